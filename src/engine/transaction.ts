// engine.transaction: the caller's own writes, and the starts and signals among them, or nothing of it.

import { optionInvalid } from '../model/errors.js'
import { beforeWrite, type Core } from './core.js'

export async function transact(core: Core, work: unknown): Promise<unknown> {
  beforeWrite(core, 'transaction')
  if (typeof work !== 'function') {
    throw optionInvalid('fn', 'engine.transaction', work, 'a function')
  }
  return core.kernel.operations.transaction(async (client) => work(client) as unknown)
}
