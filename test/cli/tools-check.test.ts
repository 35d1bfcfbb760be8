// perdure check: runs that have not ended, replayed with other code.

import { expect, test } from 'vitest'
import { checkCommand } from '../../src/cli/commands/check.js'
import { type Definition, graph, machine, task, type Wf, workflow } from '../../src/index.js'
import { checkRuns } from '../../src/testing/index.js'
import { describeOn, urlOf } from '../support/databases.js'
import { eventually, worldOn } from '../support/world.js'
import { perdure } from './tools-support.js'

let executed = 0
const step = (wf: Wf, name: string) =>
  wf.do(name, () => {
    executed += 1
    return name
  })
const order = (...steps: readonly string[]) =>
  workflow('order', async (wf, isLong: boolean) => {
    for (const name of steps) await step(wf, name)
    if (isLong) await step(wf, 'insure')
    await wf.waitFor('approval')
    await step(wf, 'ship')
  })
const mail = task('mail', async () => new Promise<void>(() => {}))
const loop = (name: string) =>
  workflow('loop', async (wf) =>
    wf.loop('rounds', 0, async (round, count) => {
      await round.do(name, () => {
        executed += 1
      })
      if (count < 2) return count + 1
      await round.waitFor('more')
      return round.done(count)
    }),
  )
const door = (first: string) =>
  machine('door', {
    transitions: {
      [first]: { to: 'closed', run: async () => {} },
      open: { from: 'closed', to: 'end', wait: true, run: async () => {} },
    },
  })
const approval = (node: string) =>
  graph({
    id: 'approval',
    nodes: [
      { id: node, type: 'set', config: { amount: 5 } },
      { id: 'paid', type: 'wait-for-event', config: { mode: 'event', event: 'paid' } },
    ],
    edges: [
      { from: 'trigger', to: node },
      { from: node, to: 'paid' },
    ],
  })

describeOn(['postgres18'], 'perdure check', (database) => {
  const world = worldOn(database)
  /** On connections that may only read. */
  const place = () => {
    const url = new URL(urlOf(database))
    url.searchParams.set('options', '-c default_transaction_read_only=on')
    return { database: url.href, schema: world.schema }
  }
  const check = (workflows: readonly unknown[], ...argv: readonly string[]) => {
    const { database: url, schema } = place()
    const commands = [checkCommand(async () => ({ workflows }))]
    return perdure(['check', '--database', url, '--schema', schema, ...argv], { commands })
  }

  test('says which live runs of every style would diverge, where, by shape, and changes nothing', async () => {
    const code = [order('reserve', 'charge'), loop('count'), door('build'), approval('amount')]
    const engine = await world.open([...code, mail] as readonly Definition[], {
      kernel: { closeGraceMs: 0 },
    })
    for (const id of ['o-1', 'o-2', 'o-3'])
      await engine.start('order' as never, false as never, { id })
    await engine.start('order' as never, true as never, { id: 'o-long' })
    for (const name of ['loop', 'door', 'approval', 'mail']) {
      await engine.start(name as never, undefined as never, { id: `${name}-1` })
    }
    await eventually(async () => (await engine.stats()).map(({ status }) => status)).toEqual([
      'waiting',
      'waiting',
      'waiting',
      'running',
      'waiting',
    ])
    await eventually(async () => {
      const { items } = await engine.list({ status: 'waiting' })
      return items.length
    }).toBe(7)
    // A step that takes long is written down.
    await eventually(async () => (await engine.history('mail-1')).items.length).toBe(2)
    const [rows, before] = [await world.counts(), executed]

    const same = await check([...code, mail])
    expect(same).toMatchObject({ exit: 0 })
    expect(same.out).toContain('✓ order@1     3 runs  fits, at wait "approval"  e.g. o-1')
    expect(same.out).toContain('8 runs have not ended: 8 fit.')

    const other = [order('reserve', 'verify'), loop('add'), door('make'), approval('sum')]
    const report = await check(other)
    expect(report.exit).toBe(1)
    expect(report.out).toContain(
      [
        '✗ order@1     3 runs  diverges at question 2  e.g. o-1',
        '    recorded  step "charge" (inline)',
        '    now       step "verify" (inline)',
      ].join('\n'),
    )
    expect(report.out).toContain('! mail@1      1 run   no code here')
    expect(report.out).toMatch(
      /8 runs have not ended: \d would diverge, 1 have no code here, \d fit\./,
    )
    const { shapes } = await checkRuns({ ...place(), workflows: other })
    const verdicts = Object.fromEntries(shapes.map((one) => [one.example, one.verdict]))
    expect(verdicts).toEqual({
      'o-1': 'diverges',
      'o-long': 'diverges',
      'loop-1': 'diverges',
      'door-1': 'fits',
      'approval-1': 'diverges',
      'mail-1': 'missing-code',
    })
    const { lines } = await check(other, '--json')
    expect(lines.at(-1)).toEqual({ runs: 8, diverging: 6, withoutCode: 1 })
    expect(lines[0]).toMatchObject({ workflow: 'order', runs: 3, difference: { position: 2 } })

    expect(executed).toBe(before)
    expect(await world.counts()).toEqual(rows)
  })

  test('code that awaits something else than what is recorded is found too', async () => {
    const stuck = workflow('order', async (wf) => {
      await step(wf, 'reserve')
      await new Promise(() => {})
    })
    const { shapes } = await checkRuns({ ...place(), workflows: [stuck] })
    const [first] = shapes.filter(({ workflow: name }) => name === 'order')
    expect(first).toMatchObject({
      verdict: 'diverges',
      difference: { position: 2, recorded: 'step "charge" (inline)', found: 'nothing' },
    })
  })

  test('ten thousand live runs take seconds', async () => {
    const [{ uid } = { uid: '' }] = await world.sql(
      `select uid::text as uid from @schema@.runs where id = 'o-1'`,
    )
    // `offset 0`: the record is made once, not once for each column.
    await world.sql(
      `with copies as (select gen_random_uuid() as uid, n from generate_series(1, 10000) n),
         rows as (
           insert into @schema@.runs select (one).* from (
             select json_populate_record(r, json_build_object('uid', c.uid, 'id', 'copy-' || c.n)) as one
               from @schema@.runs r, copies c where r.uid = $1::uuid offset 0) x)
         insert into @schema@.journal select (one).* from (
           select json_populate_record(j, json_build_object('uid', c.uid)) as one
             from @schema@.journal j, copies c where j.uid = $1::uuid offset 0) x`,
      [uid],
    )
    const startedAt = performance.now()
    const report = await checkRuns({ ...place(), workflows: [order('reserve', 'verify')] })
    expect(report.diverging).toBe(10_004)
    // About two seconds; a busy machine may take its time.
    expect(performance.now() - startedAt).toBeLessThan(30_000)
  })
})

test('a database that is not there is said, and not made', async () => {
  const commands = [checkCommand(async () => ({ workflows: [] }))]
  const { exit, err } = await perdure(['check'], { cwd: '/nowhere', commands })
  expect(exit).toBe(2)
  expect(err).toContain('There is no database in /nowhere/.perdure/data. [DATABASE_UNAVAILABLE]')
})
