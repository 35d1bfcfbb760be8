// The looks of single faults must be able to fail: each is shown a world in which nothing is wrong, and then one in
// which something is.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases, urlOf } from '../support/databases.js'
import { check } from './checker.mjs'
import * as looks from './faults/looks.mjs'
import { checkTimers } from './faults/timers.mjs'
import { undisturbed } from './storm.mjs'
import { type JournalRow, type Snapshot, serverWorld, type World } from './world.mjs'

const KINDS = ['crossed', 'tight', 'clicked', 'impatient', 'crowded', 'sleeper'] as const
const [server] = databases('postgres18', 'postgres15').filter(({ skip }) => skip === null)

describe.skipIf(!server)('the looks of single faults', () => {
  let world: World
  let good: Snapshot
  beforeAll(async () => {
    if (!server) return
    world = await serverWorld({ url: urlOf(server) })
    const { problems } = await undisturbed(world, KINDS)
    expect(problems).toEqual([])
    good = await world.snapshot()
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  const rowOf = (def: string) => {
    const row = good.runs.find((run) => run.def === def)
    if (!row) throw new Error(`no run of ${def}`)
    return row
  }
  /** The journal with an entry more, made of the first one of that kind. */
  const withMore = (def: string, kind: string, change: Partial<JournalRow> = {}): Snapshot => {
    const { uid } = rowOf(def)
    const own = good.journal.filter((entry) => entry.uid === uid)
    const like = own.find((entry) => entry.kind === kind) ?? own.at(-1)
    if (!like) throw new Error(`no entry of ${def}`)
    return { ...good, journal: [...good.journal, { ...like, kind, ...change }] }
  }

  test('find nothing wrong where nothing is', async () => {
    expect(looks.executedOnce(good)).toEqual([])
    expect(looks.nothingEarly(good)).toEqual([])
    expect(looks.nobodyReaped(world.counters())).toEqual([])
    expect(looks.oneClick(good, world.said, world.runs)).toEqual([])
    expect(looks.oneOrTheOther(good)).toEqual([])
    expect(looks.heardOnce(good)).toEqual([])
    expect(await checkTimers((sql) => world.query(sql), 'sleeper')).toEqual([])
  })

  test('see an attempt that two have executed, and a living worker that was taken for dead', () => {
    const [first] = good.ledger
    if (!first) throw new Error('nothing was executed')
    const ledger = [...good.ledger, { ...first, life: 'another' }]
    expect(looks.executedOnce({ ledger })).toEqual([
      `${first.run} ${first.step} attempt ${first.attempt}: executed 2 times, and nobody had died`,
    ])
    expect(looks.nobodyReaped({ 'worker.reaped': 1 })).toHaveLength(1)
  })

  test('see a timer before its time, one that fired twice and one that never did', async () => {
    const fired = good.journal.find(({ kind }) => kind === 'timer.fired')
    if (!fired) throw new Error('no timer fired')
    const early = { ...fired, at: Number(fired.meta?.dueAt) - 1 }
    expect(looks.nothingEarly({ journal: [early] })).toEqual([
      `${fired.uid}:${fired.seq}: timer.fired 1 ms before its time`,
    ])
    const look = () => checkTimers((sql) => world.query(sql), 'sleeper')
    const where = `where uid = '${fired.uid}' and seq = ${fired.seq}`
    await world.query(`update @schema@.journal set at = at - interval '1 hour' ${where}`)
    expect(await look()).toEqual([expect.stringMatching(/fired 1 times \(1 early\), 1 ends/)])
    await world.query(`update @schema@.journal set at = at + interval '1 hour' ${where}`)
    expect(await look()).toEqual([])
    await world.query(`update @schema@.journal set kind = 'record' ${where}`)
    expect(await look()).toEqual([expect.stringMatching(/fired 0 times/)])
    await world.query(`update @schema@.journal set kind = 'timer.fired' ${where}`)
    await world.query(
      `update @schema@.journal set kind = 'timer.fired' where uid = '${fired.uid}' and seq = 2`,
    )
    expect(await look()).toEqual([expect.stringMatching(/fired 2 times/)])
  })

  test('see a second click that was taken, and one that was taken and did nothing', () => {
    const { id } = rowOf('clicked')
    const again = [...world.said, { clicked: id, won: 1 }]
    expect(looks.oneClick(good, again, world.runs)).toEqual([
      `${id}: 2 clicks were taken, of which 1 may be`,
    ])
    const twice = withMore('clicked', 'run.reopened')
    expect(looks.oneClick(twice, world.said, world.runs)).toEqual([`${id}: re-opened 2 times`])
    const impatient = withMore('impatient', 'run.reopened')
    expect(looks.oneClick(impatient, world.said, world.runs)).toHaveLength(1)
  })

  test('see a run that has completed and was cancelled, and a child that does not agree', () => {
    const { id, uid } = rowOf('crossed')
    const ended = withMore('crossed', 'run.completed')
    expect(looks.oneOrTheOther(ended)).toEqual([expect.stringMatching(`${id}: .*, with 2 ends`)])
    const waits = [{ uid, name: 'x' }]
    expect(looks.oneOrTheOther({ ...good, waits })).toEqual([`${id}: over, and still waits`])
    const child = { ...rowOf('crossed'), uid: 'c', id: 'c', def: 'nested', parent: uid }
    const end = { ...good.journal[0], uid: 'c', kind: 'run.cancelled' } as JournalRow
    const runs = [
      { ...rowOf('crossed'), status: 'completed' },
      { ...child, status: 'cancelled' },
    ]
    const journal = [...good.journal.filter((entry) => entry.uid === uid), end]
    expect(looks.oneOrTheOther({ ...good, runs, journal })).toEqual([
      'c: cancelled, and its parent has completed',
    ])
  })

  test('see a signal that was heard by both waits', () => {
    const twice = withMore('tight', 'message.taken')
    expect(looks.heardOnce(twice)).toEqual([
      expect.stringMatching(`${rowOf('tight').id}: 2 signals taken`),
    ])
  })

  test('see an effect of a crowd that came twice, and one that is missing', () => {
    const { id } = rowOf('crowded')
    const look = (effects: Snapshot['effects']) =>
      check({ ...good, effects }, { runs: world.runs, acked: [], normal: {} })
    const own = good.effects.filter(({ run }) => run === id)
    expect(look([...good.effects, ...own])).toEqual([`${id} slow: 2 transactional effects`])
    const others = good.effects.filter(({ run }) => run !== id)
    expect(look(others)).toEqual([`${id} slow: 0 transactional effects`])
  })

  test('measure how long a run was nobody’s, and how long it waited for its first step', () => {
    const { uid } = rowOf('crowded')
    const [first, second] = good.journal.filter((entry) => entry.uid === uid)
    if (!first || !second) throw new Error('no journal')
    const journal = [
      { ...first, at: 1_000, epoch: 1 },
      { ...second, at: 1_700, epoch: 2 },
    ]
    expect(looks.handOvers({ ...good, journal }, 'crowded')).toEqual([700])
    const runs = [rowOf('crowded')]
    const ledger = good.ledger
      .filter(({ run }) => run === rowOf('crowded').id)
      .map((row) => ({ ...row, at: 1_250 }))
    expect(looks.startDelays({ runs, journal, ledger })).toEqual([250])
  })
})
