import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { DriverError } from '../../src/store/driver.js'
import { identify } from '../../src/store/driver-embedded/holder.js'
import { failureOf, notes, World } from './world.js'

const container = { pidNamespace: 'pid:[4026532500]' }
/** Of this machine, but in a container: it cannot be looked at. */
const foreign = { ...identify(), ...container, pid: 7, startTime: '3', nonce: 'n', heartbeat: 1 }
/** Its pid is alive, but belongs to another process by now. */
const dead = { ...identify(), pid: process.ppid, startTime: '1', nonce: 'old', heartbeat: 1 }

describe('a second open', { timeout: 60_000 }, () => {
  test('in the same process is refused and names it', async () => {
    await using world = await World.initialised()
    const first = await world.open()
    expect(await failureOf(world.open())).toMatchObject({
      code: 'DATABASE_LOCKED',
      message: expect.stringContaining(`process ${process.pid}`),
    })
    await first.close()
    expect(fs.existsSync(world.lockPath)).toBe(false)
    await (await world.open()).close()
  })

  test('by another name of the directory is refused too', async () => {
    await using world = await World.initialised()
    await using other = new World()
    fs.rmdirSync(other.root)
    fs.symlinkSync(world.root, other.root)
    await world.open()
    expect(await failureOf(other.open())).toMatchObject({ code: 'DATABASE_LOCKED' })
  })

  test('while another process has it is refused with its pid, the directory and a remedy', async () => {
    await using world = await World.initialised()
    const child = world.process('open')
    await child.hear()
    expect(await failureOf(world.open())).toMatchObject({
      code: 'DATABASE_LOCKED',
      message: expect.stringMatching(new RegExp(`${world.directory} .*process ${child.pid}`)),
      hint: expect.stringContaining(`stop process ${child.pid}`),
    })
    await child.kill()
    await (await world.open()).close()
  })

  test('from another process is refused with the pid of this one', async () => {
    await using world = await World.initialised()
    await world.open()
    expect(await world.process('open').hear()).toEqual({
      code: 'DATABASE_LOCKED',
      message: expect.stringContaining(`process ${process.pid}`),
    })
  })

  test('of several at once over a dead lock is won by exactly one', async () => {
    await using world = await World.initialised()
    for (let round = 0; round < 3; round += 1) {
      const contenders = contend(world)
      const said = await Promise.all(contenders.map((contender) => contender.hear()))
      expect(said.filter((one) => one && 'open' in one)).toHaveLength(1)
      expect(said.filter((one) => one?.code === 'DATABASE_LOCKED')).toHaveLength(4)
      // The winner is killed and its lock is the dead one of the next round.
      await Promise.all(contenders.map((contender) => contender.kill()))
      expect(fs.readdirSync(world.directory).sort()).toEqual(['lock', 'postgres'])
    }
  })
})

describe('a lock left behind', { timeout: 60_000 }, () => {
  test('by a dead process is taken over at once', async () => {
    await using world = await World.initialised()
    const child = world.process('open')
    await child.hear()
    await child.kill()
    expect(world.readLock().pid).toBe(child.pid)
    await world.open({ watchMs: 3_600_000 })
    expect(world.readLock().pid).toBe(process.pid)
  })

  test('by a process whose pid now belongs to another is taken over at once', async () => {
    await using world = await World.initialised()
    world.writeLock(dead)
    await world.open({ watchMs: 3_600_000 })
    expect(world.readLock().pid).toBe(process.pid)
  })

  test('together with a take-over that was killed half-way is taken over', async () => {
    await using world = await World.initialised()
    world.writeLock(dead)
    fs.writeFileSync(`${world.lockPath}.next`, JSON.stringify({ ...dead, nonce: 'next' }))
    await world.open({ watchMs: 3_600_000 })
    expect(fs.readdirSync(world.directory).sort()).toEqual(['lock', 'postgres'])
  })

  test('that a living process is taking over is left to it', async () => {
    await using world = await World.initialised()
    await using elsewhere = await World.initialised()
    world.writeLock(dead)
    const next = `${world.lockPath}.next`
    // A true description of a living process.
    const other = elsewhere.process('open')
    await other.hear()
    fs.copyFileSync(elsewhere.lockPath, next)
    expect(await failureOf(world.open())).toMatchObject({ code: 'DATABASE_LOCKED' })
    expect(fs.existsSync(next)).toBe(true)
    await other.kill()
    await world.open()
    expect(fs.existsSync(next)).toBe(false)
  })

  test.each([
    {
      what: 'of another container',
      text: JSON.stringify(foreign),
    },
    { what: 'that says nothing', text: '' },
  ])('$what is watched before it is taken', async ({ text }) => {
    await using world = await World.initialised()
    fs.writeFileSync(world.lockPath, text)
    const from = performance.now()
    await world.open({ watchMs: 400 })
    expect(performance.now() - from).toBeGreaterThan(400)
    expect(world.readLock().pid).toBe(process.pid)
  })

  test('of another container is not taken while its heartbeat moves', async () => {
    await using world = await World.initialised()
    let heartbeat = 1
    world.writeLock(foreign)
    const beating = setInterval(() => {
      heartbeat += 1
      world.writeLock({ ...foreign, heartbeat })
    }, 100)
    const refusal = await failureOf(world.open({ watchMs: 600 }))
    clearInterval(beating)
    expect(refusal).toMatchObject({
      code: 'DATABASE_LOCKED',
      message: expect.stringContaining('process 7'),
    })
    expect(world.readLock().nonce).toBe('n')
  })
})

describe('a process that holds the lock', { timeout: 60_000 }, () => {
  test('beats', async () => {
    await using world = await World.initialised()
    await world.open({ heartbeatMs: 20 })
    const before = world.readLock()
    await sleep(200)
    expect(world.readLock().heartbeat).toBeGreaterThan(before.heartbeat as number)
    expect({ ...world.readLock(), heartbeat: 0 }).toEqual({ ...before, heartbeat: 0 })
  })

  test('beats while statements follow each other without a pause', async () => {
    await using world = await World.initialised()
    const driver = await world.open({ heartbeatMs: 20 })
    const before = world.readLock().heartbeat as number
    const end = performance.now() + 300
    while (performance.now() < end) await driver.query('read', 'select 1 as one', [])
    expect(world.readLock().heartbeat).toBeGreaterThan(before)
  })

  test('and loses it while it is stopped writes nothing when it goes on', async () => {
    await using world = await World.initialised()
    const stopped = world.process('obey')
    await stopped.hear()
    stopped.signal('SIGSTOP')
    world.writeLock({ ...world.readLock(), ...container })
    const driver = await world.open({ watchMs: 300 })
    await driver.query('commit', "insert into notes values (1, 'mine')", [])
    const held = world.readLock()
    stopped.speak()
    stopped.signal('SIGCONT')
    expect(await stopped.hear()).toEqual({
      sqlState: 'F0001',
      cause: 'DATABASE_LOCKED',
      message: expect.stringContaining(`process ${process.pid} has taken it over`),
    })
    await stopped.ended
    expect(world.readLock().nonce).toBe(held.nonce)
    await driver.close()
    expect(await notes(await world.open())).toEqual([1])
  })

  test('and loses it refuses every statement, also of an open transaction, and closes without writing', async () => {
    await using world = await World.initialised()
    const errors: string[] = []
    const log = { debug() {}, info() {}, warn() {}, error: (text: string) => errors.push(text) }
    const driver = await world.open({ heartbeatMs: 3_600_000 }, log)
    const transaction = await driver.begin(5_000)
    await transaction.query("insert into notes values (1, 'never')")
    const waiting = failureOf(driver.query('commit', "insert into notes values (2, 'never')", []))
    seize(world)
    const refusals = [
      await failureOf(transaction.query('select 1')),
      await failureOf(transaction.commit()),
      await waiting,
      await failureOf(driver.query('read', 'select 1', [])),
      await failureOf(driver.script('select 1')),
      await failureOf(driver.begin(100)),
    ]
    for (const refusal of refusals) {
      expect(refusal).toBeInstanceOf(DriverError)
      expect(refusal).toMatchObject({ sqlState: 'F0001', connection: true })
      expect((refusal as DriverError).cause).toMatchObject({ code: 'DATABASE_LOCKED' })
    }
    expect(errors).toHaveLength(1)
    const control = join(world.directory, 'postgres', 'global', 'pg_control')
    const before = fs.statSync(control).mtimeMs
    await driver.close()
    expect(fs.statSync(control).mtimeMs).toBe(before)
    expect(world.readLock().nonce).toBe('seized')
  })

  test('and whose lock file was deleted stops at the next heartbeat', async () => {
    await using world = await World.initialised()
    const errors: string[] = []
    const log = { debug() {}, info() {}, warn() {}, error: (text: string) => errors.push(text) }
    await world.open({ heartbeatMs: 20 }, log)
    fs.rmSync(world.lockPath)
    await sleep(200)
    expect(errors).toEqual([expect.stringContaining('its lock file is gone')])
    expect(fs.existsSync(world.lockPath)).toBe(false)
  })
})

/** Five processes that open the directory at the same moment, while its lock is that of a dead process. */
function contend(world: World): ReturnType<World['process']>[] {
  if (!fs.existsSync(world.lockPath)) {
    world.writeLock(dead)
  }
  const env = { AT: String(Date.now() + 2_500) }
  return Array.from({ length: 5 }, () => world.process('open', {}, env))
}

/** What a take-over does to the file. */
function seize(world: World): void {
  const next = `${world.lockPath}.next`
  fs.writeFileSync(next, JSON.stringify({ ...foreign, nonce: 'seized' }))
  fs.renameSync(next, world.lockPath)
}
