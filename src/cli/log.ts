// What a server tells of itself: lines for people on a terminal, else one JSON object for each line.

import type { Log } from '../index.js'
import type { Io } from './io.js'

type Level = keyof Log

/** LOG_FORMAT=json and LOG_FORMAT=text decide; without it the terminal does. */
export function makeLog({ env, isTerminal, err, paint }: Io): Log {
  const isJson = env.LOG_FORMAT === 'json' || (!isTerminal && env.LOG_FORMAT !== 'text')
  const write = isJson
    ? (level: Level, message: string, data?: object) =>
        err(json({ time: new Date().toISOString(), level, message, ...data }))
    : (level: Level, message: string, data?: object) => {
        const more = data && Object.keys(data).length > 0 ? ` ${paint.dim(json(data))}` : ''
        err(`${paint.dim(new Date().toTimeString().slice(0, 8))} ${level} ${message}${more}`)
      }
  return {
    debug: () => {},
    info: (message, data) => write('info', message, data),
    warn: (message, data) => write('warn', message, data),
    error: (message, data) => write('error', message, data),
  }
}

function json(data: object): string {
  try {
    return JSON.stringify(data, (_, value: unknown) =>
      value instanceof Error
        ? { name: value.name, message: value.message, stack: value.stack }
        : typeof value === 'bigint'
          ? String(value)
          : value,
    )
  } catch {
    return JSON.stringify({ message: 'data that cannot be shown' })
  }
}
