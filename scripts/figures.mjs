// The figures of the last long runs, in docs/figures: what was counted and when, never where.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './bootstrap.mjs'

export function record(name, figures) {
  const folder = join(ROOT, 'docs/figures')
  mkdirSync(folder, { recursive: true })
  const date = new Date().toISOString().slice(0, 10)
  const file = join(folder, `${name}.json`)
  writeFileSync(file, `${JSON.stringify({ date, ...figures }, null, 2)}\n`)
  console.log(`written  docs/figures/${name}.json`)
}
