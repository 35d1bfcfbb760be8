import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases, urlOf } from '../support/databases.js'
import { halfDone } from './checker-machines.mjs'
import { faultPoints } from './points.mjs'
import { type Kill, makePlan, seeded, storm, undisturbed, verdict } from './storm.mjs'
import { serverWorld } from './world.mjs'

const KILLS = 200
const PER_POINT_MIN = 3
const servers = databases('postgres15', 'postgres18').filter(({ skip }) => skip === null)

const kills = new Map<string, number>()
const counters: Record<string, number> = {}
/** How many machines were looked at while others died. */
let machines = 0
const startedAt = performance.now()

/** Each server its share of every point. */
function sharesOf(points: readonly string[]): readonly (readonly Kill[])[] {
  const random = seeded(20_261)
  const plan = makePlan({ points, perPoint: PER_POINT_MIN, total: KILLS, random })
  return servers.map((_, at) => plan.filter((_, i) => i % servers.length === at))
}

describe.skipIf(servers.length === 0)('workers killed at every point of the kernel', () => {
  let shares: readonly (readonly Kill[])[] = []
  beforeAll(() => {
    shares = sharesOf(faultPoints())
  })
  afterAll(() => {
    const all = [...kills.values()].reduce((sum, count) => sum + count, 0)
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.log(`${all} kills in ${seconds} s`, Object.fromEntries([...kills].sort()))
    console.log('counted', counters)
  })

  for (const [at, server] of servers.entries()) {
    test(`[X01] leave every run in the state of an undisturbed one, each step with one result, each transactional effect once, on ${server.name}`, async () => {
      const url = urlOf(server)
      await using calm = await serverWorld({ url })
      const { normal, problems } = await undisturbed(calm)
      expect(problems).toEqual([])

      await using world = await serverWorld({ url, hasLedgerFile: true })
      const looks: Promise<{ readonly problems: readonly string[]; readonly seen: number }>[] = []
      const onKill = () => void looks.push(halfDone(world))
      const done = await storm(world, shares[at] ?? [], { newRuns: 1, onKill })
      const seen = await Promise.all(looks)
      expect(seen.flatMap(({ problems }) => problems)).toEqual([])
      for (const look of seen) machines += look.seen
      expect(await verdict(world, normal, { victims: 2 })).toEqual([])
      for (const [point, count] of done.kills) kills.set(point, (kills.get(point) ?? 0) + count)
      for (const [name, count] of Object.entries(world.counters()))
        counters[name] = (counters[name] ?? 0) + count
    })
  }

  test(`[X01] are killed at least 200 times, and at least ${PER_POINT_MIN} times at each point`, () => {
    const all = [...kills.values()].reduce((sum, count) => sum + count, 0)
    expect(all).toBeGreaterThanOrEqual(200)
    const seldom = faultPoints().filter((point) => (kills.get(point) ?? 0) < PER_POINT_MIN)
    expect(seldom).toEqual([])
  })

  test('[E04] [E08] [E09] [E12] [R15] [R17] [N01] [N03] [N12] leave nothing of a transition half done: place, state, checkpoint, documents and rows', () => {
    // Looked at behind every kill, and at the end (above): the checker knows what each of them must be.
    expect(machines).toBeGreaterThan(200)
  })

  test('are found dead by the others, which take over their runs and what they had to tell', () => {
    expect(counters['worker.reaped']).toBeGreaterThan(50)
    expect(counters['frame.replayed']).toBeGreaterThan(50)
    expect(counters['event.inherited']).toBeGreaterThan(10)
    expect(counters['answer.exists']).toBeGreaterThan(50)
  })
})
