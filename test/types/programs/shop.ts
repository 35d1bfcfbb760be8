export const stripe = {
  charge: async (amount: number, o: { idempotencyKey: string }): Promise<{ id: string }> => ({
    id: `${amount} ${o.idempotencyKey}`,
  }),
  refund: async (_id: string): Promise<void> => {},
}
export function validate(order: { id: string; amount: number }): void {
  if (order.amount <= 0) throw new Error(`order ${order.id} costs nothing`)
}
