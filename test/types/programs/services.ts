// What the programs below pretend to have.
export type Order = { id: string; amount: number; sku: string }
export class CardDeclined extends Error {
  override name = 'CardDeclined'
  constructor(readonly reason: string) {
    super(`card declined: ${reason}`)
  }
}
export declare const stripe: {
  charge(
    amount: number,
    options: { idempotencyKey: string; signal: AbortSignal },
  ): Promise<{ paymentId: string }>
  refund(paymentId: string, options: { idempotencyKey: string }): Promise<void>
}
export declare const crm: {
  create(user: { id: string; email: string }): Promise<{ crmId: string }>
}
export declare const segment: { identify(user: { id: string }): Promise<void> }
export declare const mail: { send(to: string, subject: string): Promise<void> }
export declare const llm: {
  answer(
    messages: readonly { role: string; text: string }[],
    options: { signal: AbortSignal; onToken: (token: string) => void },
  ): Promise<string>
}
