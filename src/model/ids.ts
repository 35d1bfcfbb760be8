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
  return occurrence > 1 ? `${name}#${occurrence}` : name
}

/** A UUIDv7 from a time and 10 random bytes. Pure: the caller brings both. */
export function uuidv7(nowMs: number, random: Uint8Array): string {
  const time = Math.floor(nowMs).toString(16).padStart(12, '0')
  let tail = ''
  for (let i = 0; i < 10; i += 1) tail += ((random[i] ?? 0) + 0x100).toString(16).slice(1)
  const variant = ((Number.parseInt(tail.slice(4, 6), 16) & 0x3f) | 0x80).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${tail.slice(1, 4)}-${variant}${tail.slice(6, 8)}-${tail.slice(8, 20)}`
}
