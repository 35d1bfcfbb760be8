// npm run soak [-- --minutes 60 --only f5,f7 --seed 1 --times 0.1 --version 18 --out docs/figures/soak.json]
//
// Real faults on a real server, fault after fault (test/crash/faults), as often as RELIABILITY asks for. Each world of
// each fault is brought to its end and checked: no run lost, stuck or ended twice, transactional effects exactly once,
// one key per keyed effect. It ends by itself; --minutes shares the time out among the faults, --times multiplies their
// counts. --defect takes a protection out of the engine (src/kernel/defects.ts), to see the soak fail. Ends in a table, which it also writes as JSON; exit code 1 if a promise was broken.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { bootstrap, failWith, ROOT } from './bootstrap.mjs'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    only: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1000)) },
    times: { type: 'string', default: '1' },
    defect: { type: 'string' },
    version: { type: 'string', default: '18' },
    out: { type: 'string', default: 'docs/figures/soak.json' },
  },
})
const PROGRESS_EVERY_MS = 10_000

const { built } = await bootstrap().catch(failWith)
if (!built) process.exit(1)
const { startPostgres } = await import('../test/support/servers.mjs')
const { ELSEWHERE, FAULTS, Ground } = await import('../test/crash/faults/index.mjs')
const { seeded } = await import('../test/crash/storm.mjs')

const faults = wanted()
const startedAt = performance.now()
const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes)
const end = startedAt + minutes * 60_000
const command = ['npm run soak', ...shownArguments()].join(' ')
const random = seeded(Number(values.seed))
const rows = []

const postgres = await startPostgres({
  ...{ version: Number(values.version), fsync: true },
  settings: { max_connections: 400 },
})
process.once('SIGINT', () => process.exit(130)) // the server ends with this process
try {
  console.log(`${command}: seed ${values.seed}, PostgreSQL ${values.version}, fsync on`)
  const ground = new Ground({ url: postgres.url, postgres, random })
  await ground.normal()
  if (values.defect) ground.defects = values.defect.split(',')
  for (const [i, fault] of faults.entries()) {
    rows.push(await one(ground, fault, faults.slice(i)))
    write(rows)
  }
} finally {
  await postgres.stop()
}
console.log(tableOf(rows))
if (!values.defect) console.log(`written to ${values.out}`)
const broken = rows.flatMap((row) => row.broken)
const runs = rows.reduce((sum, row) => sum + row.runs, 0)
const seconds = Math.round((performance.now() - startedAt) / 1000)
console.log(
  `${rows.length} faults, ${runs} runs, ${broken.length} promises broken, ${seconds} s, seed ${values.seed}`,
)
process.exit(broken.length > 0 ? 1 : 0)

function wanted() {
  if (values.only === undefined) return FAULTS
  const ids = values.only.toLowerCase().split(',')
  const unknown = ids.filter((id) => !FAULTS.some((fault) => fault.id === id))
  for (const id of unknown) {
    const other = ELSEWHERE.find((fault) => fault.id === id)
    const where = other?.tests.map(([file, title]) => `\n  ${file}: ${title}`).join('') ?? ''
    console.error(other ? `${id}: ${other.title}. Shown by${where}` : `There is no fault ${id}.`)
  }
  if (unknown.length > 0) process.exit(64)
  return FAULTS.filter(({ id }) => ids.includes(id))
}

function shownArguments() {
  const given = ['minutes', 'only', 'times'].filter((name) => process.argv.includes(`--${name}`))
  const all = [...given, 'seed'].map((name) => `--${name} ${values[name]}`)
  return ['--', ...all]
}

/** Its share of the time that is left is by what each of those to come takes. */
async function one(ground, fault, left) {
  const weight = left.reduce((sum, { seconds: each }) => sum + each, 0)
  const from = performance.now()
  const count = Math.max(1, Math.round(fault.count * Number(values.times)))
  ground.until = from + (end - from) * (fault.seconds / weight)
  let shownAt = from
  ground.onProgress = ({ done, runs: ran, broken: wrong }) => {
    if (performance.now() - shownAt < PROGRESS_EVERY_MS) return
    shownAt = performance.now()
    const past = Math.round((shownAt - from) / 1000)
    console.log(
      `  ${fault.id} ${done} of ${count} ${fault.unit}, ${ran} runs, ${wrong.length} broken, ${past} s`,
    )
  }
  console.log(`${fault.id.toUpperCase()} ${fault.title}`)
  let outcome
  try {
    outcome = await fault.run(ground, count)
  } catch (error) {
    console.error(error)
    outcome = { done: 0, runs: 0, broken: [`it could not be done: ${error.message}`] }
  }
  const { done, runs: ran, broken: wrong, figures = {}, counters = {} } = outcome
  for (const text of wrong) console.log(`BROKEN ${fault.id}: ${text}`)
  const secondsTaken = Math.round((performance.now() - from) / 1000)
  console.log(
    `  ${done} of ${count} ${fault.unit}, ${ran} runs, ${wrong.length} broken, ${secondsTaken} s`,
  )
  return {
    ...{ id: fault.id, title: fault.title, unit: fault.unit, asked: fault.count, done, runs: ran },
    ...{ checked: fault.checked, broken: wrong, figures, seconds: secondsTaken },
    counters: Object.fromEntries(Object.entries(counters).filter(([, each]) => each > 0)),
    tests: fault.tests ?? [],
    ...{ command, seed: Number(values.seed), date: new Date().toISOString(), machine: machine() },
  }
}

function machine() {
  const [cpu] = cpus()
  return {
    ...{ cpu: cpu?.model.trim() ?? 'unknown', cores: cpus().length },
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    ...{ node: process.versions.node, postgres: Number(values.version), fsync: true },
    platform: `${process.platform} ${process.arch}`,
  }
}

function tableOf(all) {
  const lines = all.map(({ id, title, asked, done, unit, runs: ran, broken: wrong, figures }) => [
    ...[id.toUpperCase(), title.slice(0, 70), `${asked} ${unit}`, String(done), String(ran)],
    String(wrong.length),
    Object.entries(figures)
      .map(([name, { value, unit: of, goal }]) => {
        const met =
          goal === null || goal === undefined ? '' : value <= goal ? ' (met)' : ' (missed)'
        return `${name} ${value} ${of}${met}`
      })
      .join('; '),
  ])
  const table = [['', 'fault', 'asked', 'done', 'runs', 'broken', 'measured'], ...lines]
  const widths = table[0].map((_, at) => Math.max(...table.map((line) => line[at].length)))
  return table
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The faults of this soak take the place of those of the last; the others stay, each with its own command and date. */
function write(all) {
  if (values.defect) return
  const file = join(ROOT, values.out)
  const before = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).faults : []
  const faultsNow = FAULTS.flatMap(({ id }) => {
    const row = all.find((each) => each.id === id) ?? before.find((each) => each.id === id)
    return row ? [row] : []
  })
  mkdirSync(dirname(file), { recursive: true })
  const elsewhere = ELSEWHERE.map(({ id, title, tests }) => ({ id, title, tests }))
  writeFileSync(file, `${JSON.stringify({ faults: faultsNow, elsewhere }, null, 2)}\n`)
}
