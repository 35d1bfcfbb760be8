// The port of a server: the one that was asked for, or the first that is free from 4114 on.

import { type ServeOptions, type Serving, serve } from '../http/index.js'
import { isPortTaken } from '../http/port.js'
import type { Engine } from '../index.js'

const PORT = 4114
const PORTS_TRIED = 20

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
