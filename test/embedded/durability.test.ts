import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { packedCluster } from '../../src/store/driver-embedded/cluster.js'
import { initialised, POSTGRES_MAJOR } from '../../src/store/driver-embedded/initialise.js'
import { embeddedBanner, openEmbedded } from '../../src/store/driver-embedded/open-embedded.js'
import { failureOf, notes, quiet, World } from './world.js'

describe('killing the process', { timeout: 120_000 }, () => {
  test('loses nothing that was committed', async () => {
    await using world = await World.initialised()
    let last = 0
    for (const until of [1, 40, 300]) {
      const writer = world.process('write')
      for (let count = 0; count < until; count += 1) last = (await writer.hear())?.n as number
      await writer.kill()
      for (let said = await writer.hear(); said !== null; said = await writer.hear()) {
        last = said.n as number
      }
      const driver = await world.open()
      const found = await notes(driver)
      // One more may have been committed whose number was not said any more.
      expect(found.slice(0, last)).toEqual(Array.from({ length: last }, (_, index) => index + 1))
      expect(found.length - last).toBeLessThanOrEqual(1)
      await driver.close()
    }
  })
})

describe('killing an initialisation', { timeout: 180_000 }, () => {
  test.each([0, 1, 100, 400, 900])(
    'after %i files leaves nothing that the next open stumbles over',
    async (files) => {
      await using world = new World()
      const opener = world.process('open')
      await until(() => filesMade(world) >= files || isWhole(world))
      await opener.kill()
      expect(isWhole(world) || !fs.existsSync(join(world.directory, 'postgres'))).toBe(true)
      const driver = await world.open()
      await driver.script('create table notes (n int4)')
      expect(await notes(driver)).toEqual([])
      expect(fs.readdirSync(world.directory).sort()).toEqual(['lock', 'postgres'])
    },
  )
})

describe('a first open', { timeout: 60_000 }, () => {
  test('keeps the memory of initdb out of the process', async () => {
    await using world = new World()
    const fresh = await world.process('measure').hear()
    const again = await world.process('measure').hear()
    console.info('first open', fresh, 'second open', again)
    expect(fresh?.rss).toBeLessThan(400_000_000)
    expect(again?.rss).toBeLessThan(400_000_000)
  })

  test('makes a directory itself where the package brings none', async () => {
    await using world = new World()
    fs.mkdirSync(world.directory)
    expect(packedCluster()).not.toBeNull()
    await initialised(world.directory, quiet, () => null)
    const driver = await world.open()
    await driver.script('create table notes (n int4)')
    expect(await notes(driver)).toEqual([])
  })

  test('in a place where it cannot be says so', async () => {
    await using world = new World()
    fs.writeFileSync(world.directory, 'a file')
    expect(await failureOf(world.open())).toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining(world.directory),
    })
  })

  test('is refused in production unless it is allowed', async () => {
    await using world = await World.initialised()
    const options = { directory: world.directory, production: true, log: quiet }
    expect(await failureOf(openEmbedded({ ...options, allowInProduction: false }))).toMatchObject({
      code: 'EMBEDDED_IN_PRODUCTION',
      hint: expect.stringContaining('DATABASE_URL'),
    })
    await (await openEmbedded({ ...options, allowInProduction: true })).close()
  })

  test('is refused in a directory of another PostgreSQL', async () => {
    await using world = await World.initialised()
    fs.writeFileSync(join(world.directory, 'postgres', 'PG_VERSION'), '17\n')
    expect(await failureOf(world.open())).toMatchObject({
      code: 'DATABASE_VERSION',
      message: expect.stringMatching(/PostgreSQL 17, .* embeds PostgreSQL 18/),
    })
    expect(fs.existsSync(world.lockPath)).toBe(false)
  })

  test('notes the versions that wrote the directory', async () => {
    await using world = await World.initialised()
    const driver = await world.open()
    const [row] = await driver.query(
      'read',
      "select current_setting('server_version_num') as v",
      [],
    )
    expect(Math.floor(Number(row?.v) / 10_000)).toBe(POSTGRES_MAJOR)
    const stamp = fs.readFileSync(join(world.directory, 'postgres', 'perdure.json'), 'utf8')
    expect(JSON.parse(stamp)).toEqual({
      pglite: expect.stringMatching(/^\d+\.\d+/),
      postgres: POSTGRES_MAJOR,
    })
  })

  test('tells people what the database survives', () => {
    expect(embeddedBanner('.perdure/data')).toBe(
      'embedded in .perdure/data (survives crashes, not power cuts; set DATABASE_URL for PostgreSQL)',
    )
    expect(embeddedBanner(null)).toContain('gone with this process')
  })
})

function unfinished(world: World): string[] {
  if (!fs.existsSync(world.directory)) return []
  return fs.readdirSync(world.directory).filter((name) => name.startsWith('initialising-'))
}

/** In the fullest unfinished directory; −1 while there is none, or while it is being taken away. */
function filesMade(world: World): number {
  const counts = unfinished(world).map((name) => {
    try {
      return fs.readdirSync(join(world.directory, name), { recursive: true }).length
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return -1
      throw error
    }
  })
  return Math.max(-1, ...counts)
}

function isWhole(world: World): boolean {
  return fs.existsSync(join(world.directory, 'postgres', 'perdure.json'))
}

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 30_000
  while (!condition()) {
    if (performance.now() > end) throw new Error('it did not happen within 30 s')
    await sleep(5)
  }
}
