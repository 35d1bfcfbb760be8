// perdure doctor.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEngine, workflow } from '../../src/index.js'
import { examine } from '../../src/tools/doctor.js'
import { describeOn, urlOf } from '../support/databases.js'
import { eventually, worldOn } from '../support/world.js'
import { newFolder, perdure } from './tools-support.js'

const levels = (lines: readonly Record<string, unknown>[]) =>
  Object.fromEntries(lines.map(({ about, level }) => [about, level]))

describeOn(['postgres18'], 'perdure doctor', (database) => {
  const world = worldOn(database)
  const doctor = (...argv: readonly string[]) =>
    perdure(['doctor', '--database', urlOf(database), '--schema', world.schema, ...argv])

  test('says what is well, and what to do about what is not', async () => {
    const order = (name: string) =>
      workflow('order', async (wf) => {
        await wf.do(name, () => 1)
        await wf.waitFor('go')
      })
    const engine = await world.open([order('charge')])
    await engine.start('order' as never, undefined as never, { id: 'o-1' })
    await eventually(async () => (await engine.get('o-1'))?.status).toBe('waiting')
    const well = await doctor('--json')
    expect(well.exit).toBe(0)
    expect(levels(well.lines)).toMatchObject({
      ...{ node: 'good', database: 'good', clock: 'good', hints: 'good', migrations: 'good' },
      ...{ workers: 'good', runs: 'good', code: 'good', divergence: 'good' },
    })
    await engine.signal('o-1', 'go')
    await engine.close()

    const idle = await doctor()
    expect(idle.out).toContain('! workers     No worker is alive: nothing is executed.')
    expect(idle.out).toContain('next: start one: perdure worker')

    const other = await world.open([order('reserve')])
    await other.start('order' as never, undefined as never, { id: 'o-2' })
    await eventually(async () => (await other.get('o-2'))?.status).toBe('waiting')
    const [{ uid } = { uid: '' }] = await world.sql(
      `select uid::text as uid from @schema@.runs where id = 'o-2'`,
    )
    await world.sql(
      `update @schema@.journal set name = 'pay' where uid = $1::uuid and name = 'reserve'`,
      [uid],
    )
    await other.close()
    const third = await world.open([order('reserve')], { options: { build: 'third' } })
    await third.signal('o-2', 'go')
    await eventually(async () => await third.get('o-2')).toMatchObject({ reason: 'diverged' })
    await world.advance(60_000)
    const ill = await doctor()
    expect(ill.out).toMatch(
      /! clock {7}The clock of the database is (59|60)\d{3} ms ahead of this machine's\./,
    )
    expect(ill.exit).toBe(1)
    expect(ill.out).toContain(
      '✗ divergence  1 have diverged: their code does not match their history (o-2).',
    )
  })

  test('settings that could lose what was committed are named', async () => {
    const url = new URL(urlOf(database))
    url.searchParams.set('options', '-c synchronous_commit=off')
    const { out } = await perdure(['doctor', '--database', url.href, '--schema', world.schema])
    expect(out).toMatch(/! durability {2}.*synchronous_commit.* off: a power cut can take back/)
    expect(out).toMatch(/next: turn .*synchronous_commit/)
  })

  test('a database without tables, or that does not answer, is bad', async () => {
    const at = ['--database', urlOf(database), '--schema', 'never_made']
    const empty = await perdure(['doctor', ...at])
    expect(empty.exit).toBe(1)
    expect(empty.out).toContain('✗ migrations  The schema "never_made" has no tables of Perdure.')
    const away = await perdure(['doctor', '--database', 'postgres://127.0.0.1:1/none'])
    expect(away.exit).toBe(1)
    expect(away.out).toContain('✗ database    The database postgres')
  })
})

test('an embedded database is well where nobody has it, and named where somebody has', async () => {
  const cwd = newFolder()
  const engine = await createEngine({ database: `file:${join(cwd, '.perdure/data')}` })
  const held = await perdure(['doctor'], { cwd })
  expect(held.exit).toBe(0)
  expect(held.out).toMatch(
    /! database {4}The embedded database in \S+ is already open in this process/,
  )
  await engine.close()
  const { exit, out } = await perdure(['doctor'], { cwd })
  expect(exit).toBe(0)
  expect(out).toContain('survives crashes of the process, not power cuts')
})

test('a Node that is too old is bad', async () => {
  const findings = await examine({ database: 'file:/nowhere/at/all' }, '18.20.0')
  expect(findings).toMatchObject([
    { about: 'node', level: 'bad', text: 'Node 18.20.0 is too old.' },
    { about: 'database', level: 'bad', text: 'There is no database in /nowhere/at/all.' },
  ])
})
