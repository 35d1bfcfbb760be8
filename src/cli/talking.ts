// Commands that ask somebody. The way to them is loaded when one is executed.

import type { Talk } from './connect.js'
import type { Exit } from './exit.js'
import type { Cli, Common } from './program.js'

/** `action` with somebody to talk to, who is left when it is over. */
export function talking<O>(
  { io }: Pick<Cli, 'io'>,
  work: (talk: Talk, args: readonly string[], options: O & Common) => Promise<Exit | undefined>,
): (args: readonly string[], options: O & Common) => Promise<Exit | undefined> {
  return async (args, options) => {
    const { connect } = await import('./connect.js')
    const talk = await connect(io, options)
    try {
      return await work(talk, args, options)
    } finally {
      await talk.close()
    }
  }
}
