// The examples of machines print what their guides say.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)

const PRINTED = {
  approval: ['TRANSITION_UNAVAILABLE', 'About bees, version 2, approved by ada'],
  chat: [
    'user: hello',
    'assistant: You said: hello',
    'user: goodbye',
    'assistant: You said: goodbye',
  ],
  'fan-out': ["[ 3, 5, 'there is no such thing' ]"],
}

test.each(Object.entries(PRINTED))('the example %s runs to its end', async (name, lines) => {
  const path = fileURLToPath(new URL(`../../examples/machines/${name}.mjs`, import.meta.url))
  const { stdout } = await run(process.execPath, [path], { env: { ...process.env, NO_COLOR: '1' } })
  expect(stdout.trim().split('\n')).toEqual(lines)
})
