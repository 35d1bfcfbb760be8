export interface RedisServer {
  readonly url: string
  stop(): Promise<void>
}

/** Throws with the reason when there is none for this machine. */
export function findRedis(): Promise<unknown>

/** The one of TEST_REDIS_URL, which is emptied; else one of our own. */
export function provideRedis(): Promise<RedisServer>

/**
 * One of our own, at `port` or anywhere. `kept`: a folder for what it keeps, with `appendfsync always`; another one goes on there. Its
 * stop is a kill -9.
 */
export function startRedis(options?: {
  readonly port?: number
  readonly kept?: string
  readonly settings?: readonly string[]
}): Promise<RedisServer & { readonly port: number }>
