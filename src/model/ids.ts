// Ids and names: what they look like and who makes them.

declare const brand: unique symbol
export type Brand<T, N extends string> = T & { readonly [brand]: N }

/** Ours: a UUIDv7 made in the process; keys every table. */
export type Uid = Brand<string, 'Uid'>
/** The caller's: unique per workspace, and the idempotency key of a start. */
export type RunId = Brand<string, 'RunId'>
/** One incarnation of an engine process. */
export type WorkerId = Brand<string, 'WorkerId'>
/** Unique per run for as long as the run exists; the second message with it changes nothing. */
export type MessageId = Brand<string, 'MessageId'>

export const DEFINITION_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/
export const RUN_ID = /^[A-Za-z0-9_.:@+=-]{1,128}$/
/** Ids of runs that start by themselves begin so: nobody else may take one. */
export const EVENT_RUN = 'event:'
export const CRON_RUN = 'cron:'
export const WEBHOOK_RUN = 'webhook:'

export function isTriggersId(id: string): boolean {
  return [EVENT_RUN, CRON_RUN, WEBHOOK_RUN].some((beginning) => id.startsWith(beginning))
}
export const WORKSPACE_NAME = RUN_ID
export const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,47}$/

/** Step and signal names: 1–256 bytes of printable text without control characters or edge spaces. */
export function isStepName(name: unknown): name is string {
  if (typeof name !== 'string' || name.length === 0 || name.length > 256) return false
  if (name.trim() !== name || !name.isWellFormed()) return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused here
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) return false
  // A text of 85 characters has at most 255 bytes: the usual name is not encoded to be counted.
  return name.length <= 85 || new TextEncoder().encode(name).length <= 256
}

/** How people see a step: its name, and `name#2` from the second use on. */
export function shownName(name: string, occurrence: number): string {
  const shown = name.startsWith('@') ? name.replace(TRANSITION_OF, '') : name
  return occurrence > 1 ? `${shown}#${occurrence}` : shown
}

/** The loop that a machine is has no name of its own: what it asks is named @3/approve, and people see approve. */
const TRANSITION_OF = /^@\d+\//

/** A UUIDv7 from a time and 10 random bytes. Pure: the caller brings both. */
export function uuidv7(nowMs: number, random: Uint8Array): string {
  let time = Math.floor(nowMs)
  for (let i = 5; i >= 0; i -= 1) {
    put(i, time % 256)
    time = Math.floor(time / 256)
  }
  for (let i = 0; i < 10; i += 1) put(6 + i, random[i] ?? 0)
  put(6, 0x70 | ((random[0] ?? 0) & 0x0f))
  put(8, 0x80 | ((random[2] ?? 0) & 0x3f))
  return String.fromCharCode.apply(null, characters)
}

const HEX = '0123456789abcdef'
/** The characters of the uuid being made: one text is made of them, and none in between. */
const characters = Array.from('00000000-0000-0000-0000-000000000000', (c) => c.charCodeAt(0))

function put(byte: number, value: number): void {
  // Dashes stand behind bytes 4, 6, 8 and 10.
  const at = byte * 2 + (byte >= 10 ? 4 : byte >= 4 ? (byte >> 1) - 1 : 0)
  characters[at] = HEX.charCodeAt(value >> 4)
  characters[at + 1] = HEX.charCodeAt(value & 15)
}

/** None that was made at that time, or later, is less. */
export function firstUid(atMs: number): Uid {
  const hex = Math.max(0, Math.floor(atMs)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000` as Uid
}
