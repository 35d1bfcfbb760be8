/** Throws with the reason when there is none for this machine. */
export function findPgBouncer(): Promise<unknown>

/** In transaction mode, in front of the server at `url`, to which it has `poolSize` connections. */
export function startPgBouncer(options: {
  readonly url: string
  readonly poolSize?: number
}): Promise<{ readonly url: string; stop(): Promise<void> }>
