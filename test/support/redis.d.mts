export interface RedisServer {
  readonly url: string
  stop(): Promise<void>
}

/** Throws with the reason when there is none for this machine. */
export function findRedis(): Promise<unknown>

/** The one of TEST_REDIS_URL, which is emptied; else one of our own. */
export function provideRedis(): Promise<RedisServer>

/** One of our own, at `port` or anywhere. */
export function startRedis(options?: {
  readonly port?: number
}): Promise<RedisServer & { readonly port: number }>
