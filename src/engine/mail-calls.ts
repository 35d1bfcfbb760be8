// The calls that send something to runs: signal, trigger, send, emit.

import { addressOf, beforeWrite, type Core, transactionOf } from './core.js'
import { emitEvent, sendSignal, sendTrigger } from './messages.js'
import type { Spaced } from './operate.js'
import { optionsObject } from './paged.js'
import { infoOf } from './read.js'
import { sendEvent } from './send.js'

/** `spaceOf`: the workspace that options name, if the client may go there. */
export function mailCalls(core: Core, spaceOf: (options: Spaced, call: string) => string) {
  return {
    signal: async (id: unknown, name: unknown, payload?: unknown, options?: unknown) => {
      const given = optionsObject(options, 'engine.signal', ['id', 'workspace', 'transaction'])
      const within = transactionOf(given.transaction, 'engine.signal')
      beforeWrite(core, 'signal', within)
      const to = addressOf(spaceOf(given, 'signal'), id)
      await sendSignal(core, { to, target: null, name, payload, id: given.id, within })
    },
    trigger: async (id: unknown, name: unknown, payload?: unknown, options?: unknown) => {
      const given = optionsObject(options, 'engine.trigger', ['id', 'workspace', 'within'])
      beforeWrite(core, 'trigger')
      const to = addressOf(spaceOf(given, 'trigger'), id)
      const call = { to, target: null, name, payload, id: given.id, patience: given.within }
      return infoOf(core, await sendTrigger(core, call))
    },
    send: (target: unknown, id: unknown, event: unknown, options?: unknown) =>
      sendEvent(core, spaceOf, { target, id, event, options }),
    emit: async (name: unknown, payload?: unknown, options?: unknown) => {
      const given = optionsObject(options, 'engine.emit', ['id', 'workspace', 'transaction'])
      const within = transactionOf(given.transaction, 'engine.emit')
      beforeWrite(core, 'emit', within)
      const workspace = spaceOf(given, 'emit')
      await emitEvent(core, { workspace, name, payload, id: given.id, within })
    },
  }
}
