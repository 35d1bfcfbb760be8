import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases, urlOf } from '../support/databases.js'
import { check, type Normal } from './checker.mjs'
import { undisturbed } from './storm.mjs'
import { type Snapshot, serverWorld, type World } from './world.mjs'

const [server] = databases('postgres18', 'postgres15').filter(({ skip }) => skip === null)

describe.skipIf(!server)('the checker of the crash tests', () => {
  let world: World
  let normal: Normal
  let good: Snapshot
  beforeAll(async () => {
    if (!server) return
    world = await serverWorld({ url: urlOf(server) })
    normal = (await undisturbed(world)).normal
    good = await world.snapshot()
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  const look = (snapshot: Snapshot) =>
    check(snapshot, { runs: world.runs, acked: [...world.runs.keys()], normal })
  const idOf = (kind: string) => [...world.runs].find(([, of]) => of === kind)?.[0] ?? ''
  const rowOf = (kind: string) => {
    const row = good.runs.find(({ id }) => id === idOf(kind))
    if (!row) throw new Error(`no run of ${kind}`)
    return row
  }

  test('finds nothing wrong with an undisturbed world', () => {
    expect(look(good)).toEqual([])
  })

  test('sees a transactional effect that was applied twice', async () => {
    const values = [idOf('writer'), 'one', 'k']
    await world.query('insert into effects values ($1, $2, $3)', values)
    expect(look(await world.snapshot())).toEqual([`${idOf('writer')} one: 2 transactional effects`])
    await world.query('delete from effects where key = $1', ['k'])
  })

  test('sees a run that nobody owns and nobody will find', async () => {
    const { uid, id } = rowOf('sleeper')
    await world.query('delete from @schema@.journal where uid = $1 and seq > 3', [uid])
    await world.query(
      "update @schema@.runs set status = 'waiting', finished_at = null, seq = 3 where uid = $1",
      [uid],
    )
    expect(look(await world.snapshot())).toContainEqual(
      expect.stringMatching(`${id}: not final: waiting`),
    )
  })

  test('sees an acknowledged run that is gone', () => {
    const id = idOf('chain')
    const runs = good.runs.filter((run) => run.id !== id)
    expect(look({ ...good, runs })).toContain(`${id}: acknowledged and lost`)
  })

  test('sees a step that ran after its result was recorded', () => {
    const id = idOf('chain')
    const first = good.ledger.find(({ run, step }) => run === id && step === 's1')
    if (!first) throw new Error('s1 was not executed')
    const again = { ...first, life: 'another', at: first.at + 5_000 }
    expect(look({ ...good, ledger: [...good.ledger, again] })).toEqual([
      expect.stringMatching(/s1: executed .* ms after its result was recorded/),
    ])
  })

  test('forgives a stopped process the one step it was about to begin, and no second one', () => {
    const chain = good.ledger.filter(({ run }) => run === idOf('chain'))
    const late = chain.map((row) => ({ ...row, life: '7-x', began: row.began + 5_000 }))
    const lookAt = (count: number) =>
      check(
        { ...good, ledger: [...good.ledger, ...late.slice(0, count)] },
        {
          ...{ runs: world.runs, acked: [], normal },
          ...{ isReborn: true, stops: new Map([[7, 1]]) },
        },
      )
    expect(lookAt(1)).toEqual([])
    expect(lookAt(2)).toHaveLength(2)
  })

  test('sees a second result, a second key, a late owner, a child nobody knows and an event of nothing', () => {
    const chain = rowOf('chain')
    const journal = good.journal.flatMap((entry) =>
      entry.uid === chain.uid && entry.name === 's2'
        ? [entry, { ...entry, seq: entry.seq + 1, epoch: 0 }]
        : entry.uid === chain.uid && entry.seq > 3
          ? [{ ...entry, seq: entry.seq + 1 }]
          : [entry],
    )
    const two = look({ ...good, journal })
    expect(two).toContainEqual(expect.stringMatching(/s2#1 has 2 results/))
    expect(two).toContainEqual(expect.stringMatching(/an older owner wrote/))
    const [execution] = good.ledger
    if (!execution) throw new Error('nothing was executed')
    const ledger = [...good.ledger, { ...execution, key: 'other', life: 'x' }]
    expect(look({ ...good, ledger })).toContainEqual(expect.stringMatching(/two idempotency keys/))
    const orphan = { ...chain, uid: 'u', id: 'u', parent: rowOf('queued').uid, seq: 0 }
    expect(look({ ...good, runs: [...good.runs, orphan] })).toContain('u: a child nobody knows')
    const events = [...good.events, { id: 'u:1', runId: 'u', name: 'run.failed', life: 'x' }]
    expect(look({ ...good, events })).toEqual([
      'u:1: run.failed was heard and is not in the journal',
    ])
    expect(look({ ...good, events: good.events.slice(1) })).toHaveLength(1)
  })
})
