// The log of an engine that was given none: one line each on stderr, for people in a terminal, else as JSON.

import colors from 'picocolors'
import type { Log } from './kernel/ports.js'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof LEVELS)[number]

export interface LogOptions {
  /** What is below it is not written; 'silent': nothing is. Default LOG_LEVEL, else 'info'. */
  readonly level?: Level | 'silent'
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly isTerminal?: boolean
  readonly write?: (line: string) => void
  readonly now?: () => Date
}

export function standardLog({
  env = process.env,
  level = 'info',
  isTerminal = process.stderr.isTTY === true,
  write = toStderr,
  now = () => new Date(),
}: LogOptions = {}): Log {
  const asked = LEVELS.find((one) => one === env.LOG_LEVEL) ?? level
  const least = env.LOG_LEVEL === 'silent' || asked === 'silent' ? 99 : LEVELS.indexOf(asked)
  const isText = env.LOG_FORMAT ? env.LOG_FORMAT === 'text' : isTerminal
  const line = isText ? textLine : jsonLine
  const say =
    (of: Level) =>
    (message: string, data?: object): void => {
      if (LEVELS.indexOf(of) >= least) write(`${line(of, message, data ?? {}, now())}\n`)
    }
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}

function toStderr(line: string): void {
  process.stderr.write(line)
}

const COLORS = { debug: colors.dim, info: colors.cyan, warn: colors.yellow, error: colors.red }

/** 12:30:05 warn  The message. runId=o-1 step=charge */
function textLine(level: Level, message: string, data: object, at: Date): string {
  const fields = Object.entries(data).map(([key, value]) => {
    const text =
      typeof value === 'string' ? value : shown({ [key]: value }).slice(key.length + 4, -1)
    return ` ${colors.dim(`${key}=`)}${oneLine(isSecret(key) ? HIDDEN : text)}`
  })
  const time = colors.dim(at.toTimeString().slice(0, 8))
  return `${time} ${COLORS[level](level.padEnd(5))} ${oneLine(message)}${fields.join('')}`
}

function jsonLine(level: Level, message: string, data: object, at: Date): string {
  return shown({ time: at.toISOString(), level, message, ...data })
}

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, ' ')

const HIDDEN = '[hidden]'
const isSecret = (key: string): boolean =>
  /authorization|cookie|token|secret|password|api[-_]?key/i.test(key)

function shown(data: object): string {
  try {
    return JSON.stringify(data, (key, value: unknown) => {
      if (isSecret(key) && value !== undefined) return HIDDEN
      if (typeof value === 'bigint') return String(value)
      return value instanceof Error ? shownError(value) : value
    })
  } catch {
    return JSON.stringify({ ...pickTexts(data), data: '(cannot be shown)' })
  }
}

function shownError({ name, message, stack, ...own }: Error & { code?: unknown }): object {
  const { code } = own
  return { name, message, ...(code !== undefined && { code }), stack }
}

/** Of what has a cycle, or a getter that throws. */
function pickTexts(data: object): object {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => typeof value === 'string'))
}
