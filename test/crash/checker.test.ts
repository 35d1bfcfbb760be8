import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases, urlOf } from '../support/databases.js'
import { check, type Normal } from './checker.mjs'
import { undisturbed } from './storm.mjs'
import { type JournalRow, type Snapshot, serverWorld, type World } from './world.mjs'

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

  const look = (snapshot: Snapshot) => {
    // A schedule is no run.
    const acked = [...world.runs].flatMap(([id, kind]) => (kind === 'ticker' ? [] : [id]))
    return check(snapshot, { runs: world.runs, acked, normal })
  }
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

  test('sees a step that one life executed twice, and forgives a slow database those of transactions', () => {
    const twice = (kind: string, step: string, isSlow: boolean) => {
      const row = good.ledger.find(({ run, step: name }) => run === idOf(kind) && name === step)
      if (!row) throw new Error(`${step} was not executed`)
      const ledger = [...good.ledger, row]
      return check({ ...good, ledger }, { runs: world.runs, acked: [], normal, isSlow })
    }
    const seen = [expect.stringMatching(/executed 2 times by one life/)]
    expect(twice('writer', 'one', false)).toEqual(seen)
    expect(twice('chain', 's1', true)).toEqual(seen)
    expect(twice('writer', 'one', true)).toEqual([])
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

  /** With other entries in the journal of that kind, numbered anew. */
  const rewritten = (kind: string, change: (journal: readonly JournalRow[]) => JournalRow[]) => {
    const { uid } = rowOf(kind)
    const own = change(good.journal.filter((entry) => entry.uid === uid))
    const journal = [
      ...good.journal.filter((entry) => entry.uid !== uid),
      ...own.map((entry, i) => ({ ...entry, seq: i + 1 })),
    ]
    const runs = good.runs.map((run) => (run.uid === uid ? { ...run, seq: own.length } : run))
    return look({ ...good, runs, journal })
  }
  const at = (journal: readonly JournalRow[], kind: string, name: string): number => {
    const found = journal.findIndex((entry) => entry.kind === kind && entry.name === name)
    if (found < 0) throw new Error(`no ${kind} ${name}`)
    return found
  }
  /** Takes one entry out, and puts it behind the one that stands at `to` then. */
  const moved = (journal: readonly JournalRow[], from: number, to: number): JournalRow[] => {
    const rest = journal.filter((_, i) => i !== from)
    return [...rest.slice(0, to), ...journal.slice(from, from + 1), ...rest.slice(to)]
  }

  test('sees a failed scope that was not undone, not wholly, twice, or oldest first', () => {
    const id = idOf('saga')
    const without = (name: string) =>
      rewritten('saga', (journal) => journal.filter((entry) => entry.name !== name))
    expect(without('undo:A/room')).toContain(`${id}: A/room was not undone before scope.ended A`)
    const twice = rewritten('saga', (journal) => {
      const undo = at(journal, 'undo.completed', 'undo:A/meal')
      return [...journal.slice(0, undo + 1), ...journal.slice(undo)]
    })
    expect(twice).toContain(`${id}: A/meal was undone 2 times`)
    const oldest = rewritten('saga', (journal) =>
      moved(
        journal,
        at(journal, 'undo.completed', 'undo:A/meal'),
        at(journal, 'undo.completed', 'undo:A/room'),
      ),
    )
    expect(oldest).toContain(`${id}: A/room was undone before A/meal, which is newer`)
    const late = rewritten('saga', (journal) =>
      moved(journal, at(journal, 'undo.completed', 'undo:A/room'), at(journal, 'scope.ended', 'A')),
    )
    expect(late).toContain(`${id}: A/room was not undone before scope.ended A`)
    expect(late).toContain(`${id}: undo.completed undo:A/room behind the end of A`)
  })

  test('sees what was undone although nothing failed, and a loser that was not undone', () => {
    const undone = rewritten('saga', (journal) => {
      const undo = journal[at(journal, 'undo.completed', 'undo:A/room')]
      const end = journal.length - 1
      return undo
        ? [...journal.slice(0, end), { ...undo, name: 'undo:before' }, ...journal.slice(end)]
        : []
    })
    expect(undone).toContain(`${idOf('saga')}: before was undone, and nothing failed`)
    const half = rewritten('rival', (journal) =>
      journal.filter((entry) => entry.name !== 'undo:pair/slow/x'),
    )
    expect(half).toContain(`${idOf('rival')}: pair/slow/x was not undone before scope.ended pair`)
    const not = rewritten('rival', (journal) =>
      journal.filter((entry) => !entry.name.startsWith('undo:')),
    )
    expect(not).toContainEqual(expect.stringMatching(`${idOf('rival')}: outcomes is`))
  })

  test('sees what a scope has left open: a wait that still hears, a child that goes on', () => {
    const heard = rewritten('saga', (journal) =>
      journal.map((entry) => (entry.kind === 'message.taken' ? { ...entry, name: 'A/go' } : entry)),
    )
    expect(heard).toContain(`${idOf('saga')}: message.taken A/go behind the end of A`)
    const kid = good.runs.find(({ parent }) => parent === rowOf('rival').uid)
    const runs = good.runs.map((run) => (run === kid ? { ...run, status: 'completed' } : run))
    expect(look({ ...good, runs })).toContain(
      `${idOf('rival')}: pair/slow/kid was left open by pair: completed`,
    )
  })

  test('sees a round that is missing, that ends twice, or that begins too early', () => {
    const id = idOf('months')
    const end = 'round.ended'
    const missing = rewritten('months', (journal) =>
      journal.filter((entry) => !entry.name.startsWith('months@2')),
    )
    expect(missing).toContain(`${id}: ${end} months@3, and the last round of months was 1`)
    const twice = rewritten('months', (journal) => {
      const round = at(journal, end, 'months@2/days@2')
      return [...journal.slice(0, round + 1), ...journal.slice(round)]
    })
    expect(twice).toContain(
      `${id}: ${end} months@2/days@2, and the last round of months@2/days was 2`,
    )
    const early = rewritten('months', (journal) =>
      moved(
        journal,
        at(journal, end, 'months@1'),
        at(journal, 'step.completed', 'months@2/charge'),
      ),
    )
    expect(early).toContain(
      `${id}: step.completed months@2/charge, and the last round of months was 0`,
    )
  })

  test('sees a failed run that was not undone in order, of which a round was, or before its child', () => {
    const id = idOf('broken')
    const undo = (name: string) => (journal: readonly JournalRow[]) =>
      at(journal, 'undo.completed', `undo:${name}`)
    const oldest = rewritten('broken', (journal) =>
      moved(journal, undo('a')(journal), undo('c')(journal)),
    )
    expect(oldest).toContain(`${id}: a was undone before c, which is newer`)
    const round = rewritten('broken', (journal) =>
      journal.map((entry) =>
        entry.kind === 'undo.completed' && entry.name === 'undo:b'
          ? { ...entry, name: 'undo:twice@2/kept' }
          : entry,
      ),
    )
    expect(round).toContain(`${id}: twice@2/kept was undone, and its round has ended well`)
    expect(round).toContain(`${id}: b was not undone before run.failed`)
    const early = rewritten('broken', (journal) =>
      moved(journal, at(journal, 'child.ended', 'kid'), journal.length - 2),
    )
    expect(early).toContain(`${id}: undo:c while kid was open`)
    expect(early).toContain(`${id}: undo:a while kid was open`)
  })

  test('sees another state than that of an undisturbed run, and a fork that became something else', () => {
    const changed = (id: string, change: object) =>
      look({ ...good, runs: good.runs.map((run) => (run.id === id ? { ...run, ...change } : run)) })
    expect(changed(idOf('months'), { state: '"old"' })).toEqual([
      expect.stringMatching(`${idOf('months')}: state is "old"`),
    ])
    expect(changed(`${idOf('months')}-fork`, { state: '"old"' })).toEqual([
      expect.stringMatching(`${idOf('months')}-fork: state is "old"`),
    ])
  })

  test('sees an event that is lost, that came twice, or that nobody has emitted', () => {
    const id = `${idOf('hearer')}-emitter`
    const uid = good.runs.find((run) => run.id === id)?.uid
    const own = good.emitted.filter((event) => event.id.startsWith(`${uid}:`))
    expect(own.map(({ name }) => name)).toEqual(['middle', 'last'])
    const middle = own.slice(0, 1)
    const rest = good.emitted.filter((event) => event !== middle[0])
    expect(look({ ...good, emitted: rest })).toEqual([`${id} emit:middle: 0 events`])
    const twice = look({ ...good, emitted: [...good.emitted, ...middle] })
    expect(twice).toEqual([`${id} emit:middle: 2 events`])
    expect(look({ ...good, emitted: [...good.emitted, { id: 'u:2:0', name: 'x' }] })).toEqual([
      'u:2:0: an event of nothing that is recorded',
    ])
  })

  test('sees a run that has ended and still waits for an event or for another run', () => {
    const waits = [{ uid: rowOf('hearer').uid, name: 'event:last' }]
    expect(look({ ...good, waits })).toEqual([`${idOf('hearer')}: still waits for event:last`])
  })

  test('sees a run that was to be nobody’s and is a child, and one that was started and is gone', () => {
    const { id, uid: parent } = rowOf('caller')
    const friend = `${id}-friend`
    const owned = good.runs.map((run) => (run.id === friend ? { ...run, parent } : run))
    const problems = look({ ...good, runs: owned })
    expect(problems).toContain(`${friend}: a child of ${parent}, and not of null`)
    const runs = good.runs.filter((run) => run.id !== friend)
    expect(look({ ...good, runs })).toContain(`${friend}: started and never made`)
  })

  test('sees a signal of another run that is lost or came twice, and a call that counted twice', () => {
    const id = `${idOf('caller')}-friend`
    const uid = good.runs.find((run) => run.id === id)?.uid
    const sent = good.messages.filter((message) => message.uid === uid)
    const says = (count: number) =>
      `${id}: ${count} messages of "signal go to ${id}", recorded 1 times`
    const messages = good.messages.filter((message) => message.uid !== uid)
    expect(look({ ...good, messages })).toEqual([says(0)])
    const again = sent.map((message) => ({ ...message, id: 'other', no: 2 }))
    expect(look({ ...good, messages: [...good.messages, ...again] })).toEqual([says(2)])
    const twice = rewritten('called', (journal) =>
      journal.map((entry) =>
        entry.meta?.id === 'c-3' ? { ...entry, meta: { ...entry.meta, id: 'c-2' } } : entry,
      ),
    )
    expect(twice).toEqual([`${idOf('called')}: c-2 was taken twice`])
  })

  const ofEntry = (kind: string, name: string) => {
    const { uid } = rowOf(kind)
    // On a busy machine a step is written down before it has ended, too.
    const isIt = (one: (typeof good.journal)[number]) =>
      one.uid === uid && one.name === name && one.kind !== 'step.asked'
    const entry = good.journal.find(isIt)
    if (!entry) throw new Error(`no ${name} of ${kind}`)
    return { uid, seq: entry.seq }
  }
  const changedRun = (kind: string, change: object) =>
    look({ ...good, runs: good.runs.map((r) => (r === rowOf(kind) ? { ...r, ...change } : r)) })

  test('[E04] sees a transition of which a document, its place, its state or its rows are missing', () => {
    const id = idOf('assembly')
    const bored = ofEntry('assembly', '@2/bore')
    const { seq } = ofEntry('assembly', '@3/clean')
    const of = (at: number) => good.documents.filter((d) => d.uid === bored.uid && d.seq === at)
    expect(of(seq).map(({ type }) => type)).toEqual(['part', 'progress'])
    const [part] = of(seq)
    const rest = good.documents.filter((document) => document !== part)
    expect(look({ ...good, documents: rest })).toEqual([
      expect.stringMatching(`${id}: step.completed @3/clean has documents progress`),
    ])
    const failed = good.documents.filter(
      (d) => !(d.uid === bored.uid && d.type === 'ErrorDocument'),
    )
    expect(look({ ...good, documents: failed })).toHaveLength(2)
    const early = part ? [{ ...part, seq: 99 }] : []
    expect(look({ ...good, documents: [...good.documents, ...early] })).toEqual([
      `${id}: a part of entry 99, which is not there`,
    ])
    expect(changedRun('assembly', { place: 'dried' })).toEqual([
      `${id}: is shown at dried, and is at end`,
    ])
    expect(changedRun('assembly', { shownError: '{}' })).toEqual([
      `${id}: shows error {}, its last outcome says otherwise`,
    ])
    expect(changedRun('assembly', { state: '{"log":[]}' })).toContainEqual(
      expect.stringMatching(`${id}: shows {"log":\\[\\]}, its last checkpoint says`),
    )
    const effects = good.effects.filter(({ run, step }) => run !== id || step !== '@4/dry')
    expect(look({ ...good, effects })).toEqual([`${id} @4/dry: 0 transactional effects`])
  })

  test('[E08] [E09] sees a checkpoint that is missing, and a transition that ran after its checkpoint', () => {
    const id = idOf('assembly')
    const gap = rewritten('assembly', (journal) =>
      journal.map((entry) =>
        entry.meta?.checkpoint === 2 ? { ...entry, meta: { ...entry.meta, checkpoint: 3 } } : entry,
      ),
    )
    expect(gap).toEqual([`${id}: its checkpoints are 1,3,3,4,5`])
    const cut = good.ledger.find(({ run, step }) => run === id && step === '@1/cut')
    if (!cut) throw new Error('cut was not executed')
    const again = { ...cut, life: 'another', at: cut.at + 5_000 }
    expect(look({ ...good, ledger: [...good.ledger, again] })).toEqual([
      expect.stringMatching(/@1\/cut: executed .* ms after its result was recorded/),
    ])
  })

  test('[N03] sees an event that counted twice or not at all, and a sender that was told something else', () => {
    const id = idOf('tally')
    expect(changedRun('tally', { state: '{"count":4}' })).toContainEqual(
      `${id}: counts 4, 3 events done, 3 taken`,
    )
    const told = (count: number) =>
      check(good, {
        ...{ runs: world.runs, acked: [], normal },
        sent: [{ id: `${id}-1`, to: id, count }],
      })
    const right = world.said.find(({ sent }) => sent === `${id}-1`)?.count ?? 0
    expect(told(right)).toEqual([])
    expect(told(9)).toEqual([`${id}: ${id}-1 was told 9, and its event made it ${right}`])
    const total = `${world.name}-total`
    const runs = good.runs.map((run) => (run.id === total ? { ...run, state: '{"count":0}' } : run))
    expect(look({ ...good, runs })).toContainEqual(`${total}: counts 0, 1 events done, 1 taken`)
  })

  test('[N02] [N17] [N22] sees an event out of its order, an expiry that counted twice, and a transition that was not told', () => {
    const { id } = rowOf('tally')
    const turned = rewritten('tally', (journal) =>
      journal.map((entry) => {
        const { no } = entry.meta ?? {}
        return no ? { ...entry, meta: { ...entry.meta, no: 1_000 - Number(no) } } : entry
      }),
    )
    expect(turned).toContainEqual(
      expect.stringMatching(`${id}: event .* was applied behind a later one`),
    )
    const once = rewritten('offer', (journal) => {
      const withdrawn = journal.findIndex(({ kind }) => kind === 'wait.withdrawn')
      return journal.filter((_, i) => i !== withdrawn)
    })
    expect(once).toContainEqual(
      `${idOf('offer')}: expired 2 times, moved by TIMEOUT,TIMEOUT,TIMEOUT`,
    )
    const told = good.events.find(({ name }) => name === 'workflow.transition')
    expect(look({ ...good, events: good.events.filter((event) => event !== told) })).toEqual([
      `${told?.id}: workflow.transition was heard as undefined`,
    ])
  })

  test('sees two runs of one key at once, one that was too early, and a join before its branches or twice', () => {
    const id = idOf('keyed')
    const met = rewritten('keyed', (journal) =>
      journal.map((entry) =>
        entry.name === 'enter' ? { ...entry, payload: JSON.stringify([`${id}-2`]) } : entry,
      ),
    )
    expect(met).toEqual([`${id}: began while ${id}-2, of the same key, was under way`])
    const first = good.journal.find(({ uid }) => uid === rowOf('paced').uid)?.at ?? 0
    const ledger = good.ledger.map((row) =>
      row.run.startsWith(idOf('paced')) ? { ...row, at: first + 900 } : row,
    )
    const early = look({ ...good, ledger }).filter((text) => / began .* ms too early/.test(text))
    expect(early).toHaveLength(2)
    const joined = rewritten('drawn', (journal) =>
      journal.map((e) =>
        e.name === 'bend'
          ? { ...e, name: 'joined' }
          : e.name === 'joined'
            ? { ...e, name: 'bend' }
            : e,
      ),
    )
    expect(joined).toContainEqual(`${idOf('drawn')}: joined before bend had ended`)
    const twice = rewritten('drawn', (journal) =>
      journal.map((e) => (e.name === 'last' ? { ...e, name: 'joined' } : e)),
    )
    expect(twice).toContainEqual(`${idOf('drawn')}: joined 2 times`)
  })

  test('sees a time that was left out, one behind the last, and an event with no run, or a run with no event', () => {
    const id = idOf('ticker')
    const ticks = good.runs.filter((run) => run.id.startsWith(`cron:${id}:`))
    expect(ticks.length).toBeGreaterThanOrEqual(2)
    const last = Math.max(...ticks.map((run) => Date.parse(run.id.slice(`cron:${id}:`.length))))
    const settled = (by: number) => look({ ...good, schedules: [{ id, last: last + by }] })
    expect(settled(0)).toEqual([])
    expect(settled(1_000)).toEqual([expect.stringMatching(`${id}: settled until`)])
    const moved = good.runs.map((run) =>
      run === ticks.at(-1)
        ? { ...run, id: `cron:${id}:${new Date(last + 5_000).toISOString()}` }
        : run,
    )
    expect(look({ ...good, runs: moved })).toContainEqual(
      expect.stringMatching(`${id}: the run before .* is not there`),
    )
    const event = `${idOf('announcer')}-1`
    const emitted = good.emitted.filter((one) => one.id !== event)
    expect(look({ ...good, emitted })).toEqual([
      `event:${event}:greeted: a run of no event, or a second`,
    ])
    const more = [...good.emitted, { id: 'another', name: 'announced' }]
    expect(look({ ...good, emitted: more })).toEqual([
      'event:another:greeted: an event that has started nothing',
    ])
  })
})
