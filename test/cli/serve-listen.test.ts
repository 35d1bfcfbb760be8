// Which port a server takes.

import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { portOf } from '../../src/cli/input.js'
import { listen } from '../../src/cli/listen.js'
import { composeEngine } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { openMemory } from '../../src/open-store.js'

test('a server takes the next port that is free, unless it was told which', async () => {
  const engine = await composeEngine(readEngineOptions({}, {}), { opened: await openMemory() })
  onTestFinished(() => engine.close())
  // If another process has it already, it is taken just as well.
  const other = createServer()
  await new Promise<void>((resolve) => {
    other.once('error', () => resolve())
    other.listen(4114, '127.0.0.1', resolve)
  })
  onTestFinished(() => void other.close())

  const serving = await listen(engine, {})
  onTestFinished(() => serving.close())
  expect(serving.port).toBeGreaterThan(4114)
  expect((await fetch(`${serving.url}/healthz`)).status).toBe(200)

  await expect(listen(engine, { port: serving.port })).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: expect.stringMatching(
      process.platform === 'linux'
        ? new RegExp(`^Port ${serving.port} of 127.0.0.1 is taken by process ${process.pid} \\(`)
        : /is taken by/,
    ),
  })
})

test('--port comes before PORT, and without both the server looks for one', () => {
  expect(portOf('5000', { PORT: '6000' })).toBe(5000)
  expect(portOf(undefined, { PORT: '6000' })).toBe(6000)
  expect(portOf(undefined, {})).toBeUndefined()
  expect(() => portOf(undefined, { PORT: 'web' })).toThrow('Option "PORT" in perdure')
})
