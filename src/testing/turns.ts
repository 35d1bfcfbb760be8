// Turns of the event loop: the time that passes while the clock of a test stands still.

/** Taken when this is loaded: a test may replace the global one. */
const { setImmediate: immediate } = globalThis

export const turn = (): Promise<void> => new Promise((resolve) => immediate(resolve))

export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await turn()
}
