// The port of a server: the one that was asked for, or the first that is free from 4114 on.

import { type ServeOptions, type Serving, serve } from '../http/index.js'
import { isPortTaken } from '../http/port.js'
import type { Engine } from '../index.js'
import { optionInvalid } from '../model/errors.js'

const PORT = 4114
const PORTS_TRIED = 20

/** What --port says, else what PORT says. */
export function portOf(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): number | undefined {
  return readPort(given, '--port') ?? readPort(env.PORT, 'PORT')
}

/** The text of an option, or of the environment. */
export function readPort(text: string | undefined, option: string): number | undefined {
  if (text === undefined || text === '') return undefined
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw optionInvalid(option, 'perdure', text, 'a whole number from 0 to 65535')
}

export async function listen<W>(engine: Engine<W>, options: ServeOptions): Promise<Serving> {
  if (options.port !== undefined) return serve(engine, options)
  for (let port = PORT; ; port += 1) {
    try {
      return await serve(engine, { ...options, port })
    } catch (error) {
      if (!isPortTaken(error) || port >= PORT + PORTS_TRIED) throw error
    }
  }
}
