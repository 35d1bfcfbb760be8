// Every fault point that the workloads of these tests come to, read from the code.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SRC = fileURLToPath(new URL('../../src', import.meta.url))

/** @returns {string[]} the names in fault('…') of src, sorted */
export function faultPoints() {
  const points = new Set()
  for (const file of readdirSync(SRC, { recursive: true })) {
    if (!file.endsWith('.ts') || file.endsWith('live-faults.ts')) continue
    const text = readFileSync(join(SRC, file), 'utf8')
    for (const [, inside] of text.matchAll(/\bfault\(([^()]*)\)/g)) {
      for (const [, point] of inside.matchAll(/'([a-z]+\.[a-z]+)'/g)) points.add(point)
    }
  }
  return [...points].sort()
}
