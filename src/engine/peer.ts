// Packages that only some need are loaded when they are needed.

import { peerMissing } from './errors.js'

/** What `load` gives; if it fails for want of the package `name`, the error is the line that installs it. */
export async function importPeer<M>(
  name: string,
  needed: string,
  load: () => Promise<M>,
): Promise<M> {
  try {
    return await load()
  } catch (error) {
    throw isMissing(error, name) ? peerMissing(name, needed, error) : error
  }
}

function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  const notFound = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
  return notFound && error.message.includes(`'${name}'`)
}
