// The examples of machines print what their guides say.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

const PRINTED: Readonly<Record<string, readonly string[]>> = {
  approval: ['TRANSITION_UNAVAILABLE', 'About bees, version 2, approved by ada'],
  chat: [
    'user: hello',
    'assistant: You said: hello',
    'user: goodbye',
    'assistant: You said: goodbye',
  ],
  'fan-out': ["[ 3, 5, 'there is no such thing' ]"],
}
const names = Object.keys(PRINTED)
let printed: ReadonlyMap<string, unknown> = new Map()

beforeAll(async () => {
  const files = names.map((name) => path(`../../examples/machines/${name}.mjs`))
  const args = [path('run-all.mjs'), ...files]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const all = JSON.parse(stdout) as unknown[]
  printed = new Map(names.map((name, i) => [name, all[i]]))
})

test.each(names)('the example %s runs to its end', (name) => {
  expect(printed.get(name)).toEqual(PRINTED[name])
})
