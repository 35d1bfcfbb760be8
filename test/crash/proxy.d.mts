export type Cut = `${'before' | 'after' | 'mute'} ${'commit' | 'batch' | 'claim'}`

export interface Proxy {
  readonly url: string
  /** How often it has cut since it was last told to. */
  readonly cuts: number
  cut(what: Cut | null, more?: { readonly times?: number; readonly skip?: number }): void
  /** true: connections stay, and nothing arrives. */
  hole(isHole: boolean): void
  /** The connections of this moment are silent for ever; new ones are as before. */
  bury(): void
  /** Every answer waits so many ms. */
  late(lateMs: (() => number) | null): void
  /** true: notifications are swallowed. */
  muffle(isMuffled: boolean): void
  readonly swallowed: number
  dropAll(): void
  close(): Promise<void>
}

export function openProxy(
  serverUrl: string,
  options?: { readonly cut?: Cut | null; readonly times?: number; readonly skip?: number },
): Promise<Proxy>
