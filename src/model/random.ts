// Random numbers that are the same on every replay: a generator seeded by the run's uid.

export interface Generator {
  /** 0 ≤ x < 1, with 53 random bits. */
  fraction(): number
  /** Shaped like a UUIDv4. Unique as far as the seed is; not a secret. */
  uuid(): string
}

/** sfc32 over a 128-bit hash of the seed: small, quick, and good enough for everything but secrets. */
export function generatorOf(seed: string): Generator {
  let [a, b, c, d] = hash128(seed)
  const next = (): number => {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    c |= 0
    return sum >>> 0
  }
  for (let i = 0; i < 12; i += 1) next()
  return {
    fraction: () => ((next() >>> 6) * 2 ** 27 + (next() >>> 5)) / 2 ** 53,
    uuid: () => uuidv4([next(), next(), next(), next()]),
  }
}

/** cyrb128: four lanes, so that near seeds give far states. */
function hash128(text: string): [number, number, number, number] {
  let [a, b, c, d] = [1779033703, 3144134277, 1013904242, 2773480762]
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    a = b ^ Math.imul(a ^ unit, 597399067)
    b = c ^ Math.imul(b ^ unit, 2869860233)
    c = d ^ Math.imul(c ^ unit, 951274213)
    d = a ^ Math.imul(d ^ unit, 2716044179)
  }
  a = Math.imul(c ^ (a >>> 18), 597399067)
  b = Math.imul(d ^ (b >>> 22), 2869860233)
  c = Math.imul(a ^ (c >>> 17), 951274213)
  d = Math.imul(b ^ (d >>> 19), 2716044179)
  return [a ^ b ^ c ^ d, b ^ a, c ^ a, d ^ a]
}

function uuidv4(words: readonly [number, number, number, number]): string {
  const hex = words.map((word) => word.toString(16).padStart(8, '0')).join('')
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
