// Values that are given on the command line: as JSON, from a file with @, from stdin with -.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { parseJson } from '../http/json.js'
import { optionInvalid, PerdureError } from '../model/errors.js'
import { duration } from '../model/time.js'
import type { Io } from './io.js'

/** As the API takes it. */
const LIMITS = { depthMax: 64, nodesMax: 1_000_000 }
const SHOWN = 60

/** `what`: '--input', 'the payload'. Left out is undefined. */
export async function readValue(io: Io, what: string, text: string | undefined): Promise<unknown> {
  if (text === undefined) return undefined
  if (text === '-') return parsed(what, await io.stdin(), 'what came from stdin')
  if (text.startsWith('@')) return parsed(what, readText(io, what, text.slice(1)), text.slice(1))
  return parsed(what, text, null)
}

export function readText(io: Io, what: string, path: string): string {
  try {
    return readFileSync(resolve(io.cwd, path), 'utf8')
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'is not there' : String(error)
    throw new PerdureError('OPTION_INVALID', `The file ${path} of ${what} ${why}.`, {
      hint: 'give the path from here to a file that can be read',
    })
  }
}

/** `source`: null: it stood on the command line. */
export function parsed(what: string, text: string, source: string | null): unknown {
  try {
    return parseJson(text, LIMITS)
  } catch (error) {
    if (!PerdureError.is(error, 'REQUEST_INVALID')) throw error
    const said = error.details.problems[0]?.message ?? 'is no JSON'
    const of = source === null ? '' : ` (${source})`
    throw new PerdureError('OPTION_INVALID', `${what}${of} ${said}.`, {
      hint:
        source === null
          ? `put JSON between single quotes, as '{"id":"o-1"}'; @file and - (stdin) work too`
          : 'correct it there',
      details: { lines: pointed(text, said) },
    })
  }
}

/** The line, and below it an arrow. */
function pointed(text: string, said: string): readonly string[] {
  const at = Number(/position (\d+)/.exec(said)?.[1] ?? Number.NaN)
  if (Number.isNaN(at)) return []
  const from = text.lastIndexOf('\n', at - 1) + 1
  const start = Math.max(from, at - SHOWN / 2)
  const line = text.slice(start).split('\n')[0] ?? ''
  return [line.slice(0, SHOWN), `${' '.repeat(at - start)}^`]
}

/** '-5m' from now, or an instant. */
export function momentOf(io: Io, option: string, text: string): Date {
  const at = /^\d{4}-/.test(text) ? new Date(text) : new Date(io.now() - duration(text))
  if (!Number.isNaN(at.getTime())) return at
  throw new PerdureError('OPTION_INVALID', `${option} cannot be "${text}".`, {
    hint: "give how long ago ('2h', '7 days'), or an instant ('2026-11-20T09:00:00Z')",
  })
}

export type Pairs = Readonly<Record<string, string>>

/** For options that may come several times: name=value. */
export function pair(text: string, before: Pairs = {}): Pairs {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It is name=value.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

export function whole(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is a whole number.')
}

/** What --port says, else what PORT says. */
export function portOf(
  text: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): number | undefined {
  return readPort(text, '--port') ?? readPort(env.PORT, 'PORT')
}

/** The text of an option, or of the environment. */
export function readPort(text: string | undefined, option: string): number | undefined {
  if (text === undefined || text === '') return undefined
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw optionInvalid(option, 'perdure', text, 'a whole number from 0 to 65535')
}

/** Left-out options are not given at all. */
export function given<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, one]) => one !== undefined)) as T
}
