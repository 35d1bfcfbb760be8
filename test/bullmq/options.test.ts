import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bullmq } from '../../src/bullmq/index.js'
import { createEngine, PerdureError } from '../../src/index.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

describe('bullmq()', () => {
  test.each([
    ['an unknown option', { redis: 'redis://127.0.0.1' }, 'OPTION_UNKNOWN'],
    ['an address that is none', { connection: 'postgres://u:secret@h/db' }, 'OPTION_INVALID'],
    ['a number for a connection', { connection: 6379 }, 'OPTION_INVALID'],
    ['a name that BullMQ does not take', { queue: 'a:b' }, 'OPTION_INVALID'],
  ])('refuses %s, and shows no password', (_title, options, code) => {
    const refusal = refused(() => bullmq(options as never))
    expect(refusal.code).toBe(code)
    expect(refusal.message).not.toContain('secret')
  })

  test('is what the option transport takes, and nothing else is', async () => {
    const options = { database: 'memory:', transport: 'redis://127.0.0.1' as never }
    await expect(createEngine(options)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })

  test.each(['bullmq', 'ioredis'])('without %s fails with the line that installs it', (name) => {
    const folder = withoutPackage(name)
    const program = `
      const { bullmq } = await import(${JSON.stringify(join(folder, 'dist/bullmq/index.js'))})
      await bullmq().open({ schema: 'perdure', executes: true, log: console }).catch(({ code, hint }) => console.log(code, hint))`
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', program])
    expect(String(said).trim()).toBe(`PEER_MISSING npm install ${name}`)
  })
})

function refused(call: () => unknown): PerdureError {
  try {
    call()
  } catch (error) {
    if (PerdureError.is(error)) return error
    throw error
  }
  throw new Error('it was not refused')
}

/** The built package where this one is not installed. */
function withoutPackage(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-bullmq-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const part of ['bullmq', 'engine', 'model', 'live-hints.js']) {
    cpSync(join(ROOT, 'dist', part), join(folder, 'dist', part), { recursive: true })
  }
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  mkdirSync(join(folder, 'node_modules'))
  for (const other of readdirSync(join(ROOT, 'node_modules'))) {
    if (other === name) continue
    symlinkSync(join(ROOT, 'node_modules', other), join(folder, 'node_modules', other))
  }
  return folder
}
