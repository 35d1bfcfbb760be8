// npm run soak [-- --kills 2000 --minutes 60 --seed 1 --version 18]
//
// Kills workers at fault points and at random instants, world after world, and checks each world. Ends by itself
// after so many kills or minutes. The last line is a summary; exit code 1 if a promise was broken.

import { parseArgs } from 'node:util'
import { bootstrap, failWith } from './bootstrap.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '2000' },
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1000)) },
    version: { type: 'string', default: '18' },
  },
})
const KILLS_PER_WORLD = 100

const { built } = await bootstrap().catch(failWith)
if (!built) process.exit(1)
const { startPostgres } = await import('../test/support/servers.mjs')
const { faultPoints } = await import('../test/crash/points.mjs')
const { makePlan, seeded, storm, undisturbed, verdict } = await import('../test/crash/storm.mjs')
const { serverWorld } = await import('../test/crash/world.mjs')

const most = Number(values.kills)
const startedAt = performance.now()
const until = startedAt + Number(values.minutes) * 60_000
const seconds = () => Math.round((performance.now() - startedAt) / 1000)
const random = seeded(Number(values.seed))
const byPoint = new Map()
const counted = {}
const broken = []
let kills = 0
let runs = 0
let worlds = 0

const postgres = await startPostgres({ version: Number(values.version), fsync: true })
process.once('SIGINT', () => process.exit(130)) // the server ends with this process
try {
  const normal = await oneWorld((world) => undisturbed(world))
  console.log(`seed ${values.seed}, PostgreSQL ${values.version}, ${most} kills`)
  while (kills < most && performance.now() < until) {
    await oneWorld(async (world) => {
      const total = Math.min(KILLS_PER_WORLD, most - kills)
      const plan = makePlan({ points: faultPoints(), perPoint: 2, total, random }).slice(0, total)
      await storm(world, plan, { until, onKill: ({ point }) => note(point) })
      const problems = await verdict(world, normal.normal)
      broken.push(...problems)
      for (const problem of problems) console.log(`BROKEN ${problem}`)
      for (const [name, count] of Object.entries(world.counters()))
        counted[name] = (counted[name] ?? 0) + count
      runs += world.runs.size
      worlds += 1
    })
    console.log(
      `${seconds()} s: ${kills} kills, ${runs} runs, ${worlds} worlds, ${broken.length} broken`,
    )
  }
} finally {
  await postgres.stop()
}
console.log(Object.fromEntries([...byPoint].sort()))
console.log(Object.fromEntries(Object.entries(counted).filter(([, count]) => count > 0)))
console.log(
  `${kills} kills, ${runs} runs, ${counted['run.crashLimit'] ?? 0} of them failed by the crash limit, ${broken.length} promises broken, ${seconds()} s, seed ${values.seed}`,
)
process.exit(broken.length > 0 ? 1 : 0)

function note(point) {
  kills += 1
  byPoint.set(point, (byPoint.get(point) ?? 0) + 1)
}

async function oneWorld(body) {
  const world = await serverWorld({ url: postgres.url })
  try {
    return await body(world)
  } finally {
    await world[Symbol.asyncDispose]()
  }
}
