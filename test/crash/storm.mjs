// A storm: several victims side by side in one world, each told where to die, each followed by another, until every
// kill of the plan has happened. Then lives without faults finish the work, and the checker looks at it.

import { check, normalOf } from './checker.mjs'
import { openProxy } from './proxy.mjs'

export const KINDS = [
  ...['chain', 'retried', 'sleeper', 'waiter', 'queued', 'all', 'race', 'writer'],
  ...['stopped', 'family', 'reopened', 'saga', 'rival', 'months', 'broken', 'resting'],
  ...['caller', 'hearer', 'called', 'assembly', 'tally', 'offer', 'drawn', 'careful', 'listening'],
  ...['keyed', 'paced', 'ticker', 'announcer'],
]
/** A kind that leads to the point. */
const LEADS = {
  ...{ transaction: 'writer', rollback: 'writer', resolve: 'writer', reopen: 'reopened' },
  ...{ message: 'waiter', load: 'queued', admit: 'keyed', fire: 'ticker' },
  ...{ publish: 'chain' },
}
/** How often a point is hit in a short life; a kill at its first hit leaves runs without progress. */
const HITS = {
  commit: 10,
  step: 8,
  claim: 5,
  beat: 5,
  reap: 4,
  settled: 3,
  message: 4,
  start: 2,
  admit: 4,
  publish: 3,
}
const REACHED_WITHIN_MS = 6_000
const OPENED_WITHIN_MS = 60_000
const CALM_LEASE_MS = 60_000
const CLOSING = new Set(['close', 'leave'])

/** `perPoint` kills at each point, and at random instants until there are `total`. */
export function makePlan({ points, perPoint, total, random }) {
  const plan = []
  for (let i = 0; i < perPoint; i += 1) {
    for (const point of points) {
      const most = HITS[point.split('.')[0]] ?? 1
      plan.push({ point, hit: 1 + Math.floor(random() * most) })
    }
  }
  while (plan.length < total) plan.push({ point: 'random', afterMs: 50 + random() * 900 })
  for (let i = plan.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1))
    ;[plan[i], plan[j]] = [plan[j], plan[i]]
  }
  return plan
}

/** What each kind becomes when nobody dies. */
export async function undisturbed(world, kinds = KINDS) {
  world.newRuns(...kinds)
  // Nobody is to be taken for dead, however busy the machine is.
  world.leaseMs = CALM_LEASE_MS
  if (!(await world.finish({ victims: 1 })))
    throw new Error(`An undisturbed world did not finish: ${JSON.stringify(world.said)}`)
  const snapshot = await world.snapshot()
  const normal = normalOf(snapshot, world.runs)
  return { normal, problems: check(snapshot, { runs: world.runs, acked: [], normal }) }
}

/** Carries the plan out. `until`: no new life after that. */
export async function storm(
  world,
  plan,
  { slots = 4, newRuns = 2, calm = true, kinds = null, until = null, onKill } = {},
) {
  const left = [...plan]
  const kills = new Map()
  const missed = []
  let turn = 0
  const nextKinds = (point) => {
    const lead = LEADS[point.split('.')[0]]
    const rest = Array.from(
      { length: newRuns - (lead ? 1 : 0) },
      () => KINDS[turn++ % KINDS.length],
    )
    return lead ? [lead, ...rest] : rest
  }
  const slot = async () => {
    let before = []
    for (;;) {
      const item = left.shift()
      if (!item || (until !== null && performance.now() > until)) return
      const fresh = world.newRuns(...(kinds ?? nextKinds(item.point)))
      const died = await oneLife(world, item, [...fresh, ...before])
      before = fresh
      if (died) {
        kills.set(item.point, (kills.get(item.point) ?? 0) + 1)
        onKill?.(item)
        continue
      }
      missed.push(item)
      if ((item.again ?? 0) < 3) left.push({ ...item, hit: 1, again: (item.again ?? 0) + 1 })
    }
  }
  // One that lives: a run that five processes in a row die with is failed, and rightly so, but that is another test.
  const living = calm ? world.spawn({ concurrency: 8, pollMs: 400 }) : null
  await Promise.all(Array.from({ length: slots }, slot))
  living?.tell({ close: true })
  await living?.ended
  return { kills, missed }
}

/** True: it was killed where it was to be. */
async function oneLife(world, { point, hit, afterMs }, runs) {
  const isClosing = CLOSING.has(point.split('.')[0])
  // Only a lost answer to the commit of a step's transaction leads there.
  const proxy = point.startsWith('resolve.')
    ? await openProxy(world.url, { cut: 'after commit' })
    : null
  const victim = world.spawn({
    ...(point === 'random' ? {} : { fault: `${point}:${hit}` }),
    ...(isClosing ? { closeAfterMs: 250 } : {}),
    ...(proxy ? { database: proxy.url } : {}),
    concurrency: 3,
    pollMs: 300,
    runs,
  })
  const timers = []
  const after = (ms, act) => void timers.push(setTimeout(act, ms))
  after(OPENED_WITHIN_MS, () => victim.signal('SIGKILL'))
  // Not before: to open takes long on a busy machine.
  void victim
    .hear(({ open }) => open, OPENED_WITHIN_MS)
    .then((opened) => {
      if (!opened) return
      if (point === 'random') after(afterMs, () => victim.signal('SIGKILL'))
      else after(REACHED_WITHIN_MS, () => victim.tell({ close: true }))
      after(3 * REACHED_WITHIN_MS, () => victim.signal('SIGKILL'))
    })
  const { signal } = await victim.ended
  for (const timer of timers) clearTimeout(timer)
  await proxy?.close()
  return signal === 'SIGKILL'
}

/** Ends the world's work and gives everything that is wrong with it. */
export async function verdict(world, normal, { isReborn, isSlow, ...options } = {}) {
  const isFinished = await world.finish(options)
  const acked = [...new Set(world.said.flatMap(({ acked: id }) => id ?? []))]
  const sent = world.said.flatMap(({ sent: id, to, count }) => (id ? [{ id, to, count }] : []))
  const snapshot = await world.snapshot()
  const stops = new Map(world.victims.map((victim) => [victim.pid, victim.stops]))
  const lenient = { isReborn, isSlow, stops }
  const problems = check(snapshot, { runs: world.runs, acked, normal, sent, ...lenient })
  const unwanted = world.said.filter(
    ({ failed, error, held }) => failed || error || (held && held.length > 0),
  )
  return [
    ...(isFinished ? [] : ['the last lives did not finish']),
    ...problems,
    ...unwanted.map((said) => JSON.stringify(said)),
  ]
}

/** A small seeded generator (mulberry32). */
export function seeded(seed) {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
