// Texts and keys as JSON writes them, quickly: nearly all need no escaping.

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/

/** A text as JSON writes it. */
export function quoted(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`
}

/** A text that was put together is put together anew wherever it is read; asked for a character, it is in one piece for good. */
export function inOnePiece(text: string): string {
  return text.charCodeAt(0) === 0 ? '' : text
}

/** Keys repeat from value to value. Bounded, since they are the users'. */
const KEYS_MAX = 1_000
const keys = new Map<string, string>()

/** With its colon. */
export function quotedKey(key: string): string {
  const known = keys.get(key)
  if (known !== undefined) return known
  const text = `${quoted(key)}:`
  if (key.length <= 64) {
    if (keys.size >= KEYS_MAX) keys.clear()
    keys.set(key, text)
  }
  return text
}
