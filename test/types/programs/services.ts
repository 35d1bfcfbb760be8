// What the programs below pretend to have.
export type Order = { id: string; amount: number; sku: string }
export class CardDeclined extends Error {
  override name = 'CardDeclined'
  constructor(readonly reason: string) {
    super(`card declined: ${reason}`)
  }
}
export const stripe = {
  charge: async (
    amount: number,
    options: { idempotencyKey: string; signal: AbortSignal },
  ): Promise<{ paymentId: string }> => ({ paymentId: `${amount} ${options.idempotencyKey}` }),
  refund: async (_paymentId: string, _options: { idempotencyKey: string }): Promise<void> => {},
}
export const crm = {
  create: async (user: { id: string; email: string }): Promise<{ crmId: string }> => ({
    crmId: `crm-${user.id}`,
  }),
}
export const segment = { identify: async (_user: { id: string }): Promise<void> => {} }
export const mail = { send: async (_to: string, _subject: string): Promise<void> => {} }
export declare const llm: {
  answer(
    messages: readonly { role: string; text: string }[],
    options: { signal: AbortSignal; onToken: (token: string) => void },
  ): Promise<string>
}
