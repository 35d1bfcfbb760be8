export declare const stripe: {
  charge(amount: number, o: { idempotencyKey: string }): Promise<{ id: string }>
  refund(id: string): Promise<void>
}
export declare function validate(order: { id: string; amount: number }): void
