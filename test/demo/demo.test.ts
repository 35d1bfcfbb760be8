// npm start as people use it: killed, interrupted, started again. Real processes on dist/.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, type TestContext, test } from 'vitest'
import { createEngine } from '../../src/index.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const START = join(ROOT, 'scripts/start.mjs')

/** An empty database: making one takes longer than a demo. */
const template = mkdtempSync(join(tmpdir(), 'perdure-demo-template-'))
beforeAll(async () => {
  const engine = await createEngine({ database: `file:${template}`, schema: 'perdure_demo' })
  await engine.close()
})
afterAll(() => rmSync(template, { recursive: true, force: true }))

// They wait more than they work.
describe.concurrent('npm start', () => {
  test('killed after the charge goes on behind it, and charges once', async (context) => {
    const { expect } = context
    const world = newWorld(context)
    const first = world.start()
    await first.says('✓ charge')
    // Something waits for a person, something has failed, and the workflows of the three styles are there.
    expect(first.text).toMatch(/review +rev-7 +waits for a person: approve or reject {2}→ {2}http/)
    expect(first.text).toMatch(/lead-routing +lead-2 +failed: nothing is known of nowhere.example/)
    expect(first.text).toContain('lead-routing (graph) · order (function) · review (machine)')
    expect(
      first.text.slice(0, first.text.indexOf('order ord')).match(/\S\n/g)?.length,
    ).toBeLessThan(9)
    first.child.kill('SIGKILL')
    await first.ended

    const second = world.start(['--once'])
    await second.says('resumed after "charge" (2 of 5 steps done)')
    expect(await second.ended).toBe(0)
    expect(second.text).toMatch(/order ord-1042 is done: 1 charge in \S+ledger.txt, 1 in the table/)
    expect(second.text).not.toContain('✓ charge')
    expect(world.ledger()).toHaveLength(1)
    expect(first.text + second.text).not.toContain('\u001b')
  })

  test('killed while the charge is under way charges once', async (context) => {
    const { expect } = context
    const world = newWorld(context)
    const first = world.start()
    await first.says('✗ charge')
    // Its second attempt begins 2 s after the first has failed, and takes 300 ms.
    await new Promise((resolve) => setTimeout(resolve, 2_150))
    first.child.kill('SIGKILL')
    await first.ended

    const second = world.start(['--once'])
    await second.says('resumed after "')
    expect(await second.ended).toBe(0)
    expect(world.ledger()).toHaveLength(1)
  })

  test('stopped by Ctrl-C or SIGTERM says that runs continue, and they do', async (context) => {
    const { expect } = context
    const world = newWorld(context)
    const first = world.start()
    await first.says('✓ charge')
    first.child.kill('SIGINT')
    expect(await first.ended).toBe(0)
    expect(first.text).toContain('Ctrl-C: closing; runs continue at the next start')

    const second = world.start(['--once'])
    await second.says('resumed after "charge"')
    expect(await second.ended).toBe(0)
    expect(world.ledger()).toHaveLength(1)

    const third = world.start()
    await third.says('order ord-1043 started')
    third.child.kill('SIGTERM')
    expect(await third.ended).toBe(0)
    expect(third.text).toContain('SIGTERM: closing; runs continue at the next start')
  })

  test('refuses what it does not know', async (context) => {
    const { expect } = context
    const { ended, errors } = newWorld(context).start(['--dta', 'x'])
    expect(await ended).toBe(1)
    expect(errors()).toContain("Unknown option '--dta'")
  })
})

interface Started {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  /** The exit code, or null after a kill. */
  readonly ended: Promise<number | null>
  readonly text: string
  errors(): string
  says(part: string): Promise<void>
}

function newWorld(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-demo-'))
  context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { DATABASE_URL: _, PERDURE_DATABASE_URL: __, NODE_ENV: ___, ...env } = process.env
  const data = join(folder, 'data')
  cpSync(template, data, { recursive: true })
  return {
    start: (args: readonly string[] = []) =>
      started(
        context,
        spawn(process.execPath, [START, '--data', data, ...args], {
          cwd: folder,
          env: { ...env, NO_COLOR: '1', PORT: '0' },
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      ),
    ledger: () => readFileSync(join(folder, 'ledger.txt'), 'utf8').trim().split('\n'),
  }
}

function started({ expect, onTestFinished }: TestContext, child: Started['child']): Started {
  let text = ''
  let complaint = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    complaint += chunk
  })
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code))
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    child,
    ended,
    get text() {
      return text
    },
    errors: () => complaint,
    says: (part) =>
      expect.poll(() => text + complaint, { timeout: 120_000, interval: 20 }).toContain(part),
  }
}
