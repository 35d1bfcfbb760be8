import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { databases, urlOf } from '../support/databases.js'
import { type Kill, storm, undisturbed, verdict } from './storm.mjs'
import { serverWorld, type World } from './world.mjs'

const [server] = databases('postgres18', 'postgres15').filter(({ skip }) => skip === null)
const KINDS = ['tally', 'offer'] as const
const at = (point: string, ...hits: readonly number[]): readonly Kill[] =>
  hits.map((hit) => ({ point, hit }))

describe.skipIf(!server).concurrent('machines whose processes are killed', () => {
  const url = server && server.skip === null ? urlOf(server) : ''

  const standingOf = async (world: World, id: string) => {
    const [row] = await world.query(
      `select status, reason, owner, epoch, (extract(epoch from due_at) * 1000)::float8 as due
         from @schema@.runs where id = $1`,
      [id],
    )
    return row
  }

  test('[E21] wait for their retry as a row that nobody owns, and are tried again when it is due, by processes that were not there', async () => {
    await using world = await serverWorld({ url, leaseMs: 1_500 })
    const [run] = world.newRuns('patient')
    if (!run) throw new Error('no run')
    const all = [world.spawn({ runs: [run] }), world.spawn()]
    for (const victim of all) await victim.hear(({ open }) => open)
    for (const end = Date.now() + 30_000; Date.now() < end; await sleep(30))
      if ((await standingOf(world, run.id))?.reason === 'retry') break
    const waiting = await standingOf(world, run.id)
    expect(waiting).toMatchObject({ status: 'waiting', reason: 'retry', owner: null })
    for (const victim of all) victim.signal('SIGKILL')
    for (const victim of all) await victim.ended
    expect(await standingOf(world, run.id)).toEqual(waiting)

    expect(await verdict(world, {})).toEqual([])
    const { journal, ledger } = await world.snapshot()
    const failed = journal.find(({ kind }) => kind === 'step.failed')
    expect(failed?.meta?.retryAt).toBe(waiting?.due)
    const tries = ledger.map(({ attempt, life, at }) => [attempt, life, at] as const)
    expect(tries.map(([attempt]) => attempt)).toEqual([1, 2])
    expect(tries[1]?.[1]).not.toBe(tries[0]?.[1])
    expect(tries[1]?.[2]).toBeGreaterThanOrEqual(Number(waiting?.due))
  })

  test('[N02] [N04] [N17] [N22] apply every event once and in order, are created once, expire once each time, and are told of to the end', async () => {
    await using calm = await serverWorld({ url })
    const { normal } = await undisturbed(calm, KINDS)
    await using world = await serverWorld({ url, leaseMs: 1_500 })
    const plan = [
      ...[...at('commit.before', 3, 6), ...at('commit.after', 2, 4), ...at('claim.after', 2)],
      ...[...at('delivered.before', 1, 2), ...at('delivered.after', 1), ...at('message.after', 2)],
    ]
    const { kills } = await storm(world, plan, { slots: 3, kinds: KINDS })
    expect([...kills.values()].reduce((sum, count) => sum + count, 0)).toBe(plan.length)
    // The checker: what was told is what the journals say, both ways; events as they were accepted; each expiry one transition.
    expect(await verdict(world, normal)).toEqual([])
    const { runs, events } = await world.snapshot()
    const heard = (name: string, id: string) =>
      new Set(events.flatMap((e) => (e.name === name && e.runId === id ? [e.id] : []))).size
    const total = runs.find(({ def }) => def === 'total')
    expect(heard('workflow.created', `${world.name}-total`)).toBe(1)
    const tallies = runs.filter(({ def }) => def === 'tally')
    // Each of them has sent one, from whichever process.
    expect(JSON.parse(total?.state ?? '{}')).toEqual({ count: tallies.length })
    expect(tallies.length).toBe(plan.length)
    const expired = runs.filter(({ def }) => def === 'offer')
    expect(expired.map(({ id }) => heard('workflow.timeout.triggered', id))).toEqual(
      expired.map(() => 3),
    )
  })
})
