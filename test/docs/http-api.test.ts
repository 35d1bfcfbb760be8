// docs/http-api.md: its session with curl runs as it is printed, and its table has every route.

import { execFile } from 'node:child_process'
import { expect, test } from 'vitest'
import { serve } from '../../src/http/index.js'
import { ROUTES } from '../../src/http/routes/index.js'
import { createEngine, workflow } from '../../src/index.js'
import { blocksOf, readPage } from './programs.js'

const PAGE = readPage('docs/http-api.md')

test('the session with curl gives what it says', async () => {
  const order = workflow('order', async (wf, input: { amount: number }) => {
    const { ok } = (await wf.waitFor('approval')) as { ok: boolean }
    return ok ? { charged: input.amount } : null
  })
  const engine = await createEngine({ database: 'memory:', workflows: [order] })
  const server = await serve(engine, { port: 0 })
  try {
    const [session] = blocksOf(PAGE, 'console')
    const steps = (session?.code ?? '').trim().split(/^\$ /m).filter(Boolean)
    expect(steps.length).toBeGreaterThan(3)
    for (const step of steps) {
      const [command = '', ...expected] = step.trimEnd().split('\n')
      const printed = await new Promise<string>((resolve) => {
        execFile('bash', ['-c', command], { env: { ...process.env, URL: server.url } }, (_, out) =>
          resolve(out.trimEnd()),
        )
      })
      expect([command, printed]).toEqual([command, expected.join('\n')])
    }
  } finally {
    await server.close()
    await engine.close()
  }
})

test('every route is named there', () => {
  const missing = ROUTES.map(({ path }) => path.split('/').filter((part) => !/[{}]/.test(part)))
    .map((parts) => parts.at(-1) ?? '')
    .filter((word) => !PAGE.includes(`/${word}`))
  expect(missing).toEqual([])
})
