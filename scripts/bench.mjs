// npm run bench: the engine next to the bare group-commit loop, in the same run, interleaved, on a real PostgreSQL
// with fsync on. Ratios are what it is for; absolute figures belong to the machine they were measured on.
//
//   npm run bench                 all workloads, three rounds
//   npm run bench -- --quick      one round, smaller
//   npm run bench -- --only w2    one workload

import { spawnSync } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { bootstrap } from './bootstrap.mjs'

if (!process.execArgv.includes('--expose-gc')) {
  const self = fileURLToPath(import.meta.url)
  const again = spawnSync(process.execPath, ['--expose-gc', self, ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  process.exit(again.status ?? 1)
}
await bootstrap()

const { startPostgres } = await import('../test/support/servers.mjs')
const { bareLoop, rawStatement } = await import('../bench/bare.mjs')
const { idleLatency, longRun, median, PAYLOAD, signals, sleepers, throughput } = await import(
  '../bench/workloads.mjs'
)

const quick = process.argv.includes('--quick')
const only = process.argv.includes('--only')
  ? process.argv[process.argv.indexOf('--only') + 1]
  : null
const rounds = quick ? 1 : 3
const scale = quick ? 0.4 : 1
const payload = JSON.stringify(PAYLOAD)
const wants = (name) => only === null || only === name
const say = (text) => process.stdout.write(`${text}\n`)

const server = await startPostgres({ version: 15, fsync: true })
process.once('SIGINT', () => void server.stop().then(() => process.exit(130)))
try {
  say(
    `PostgreSQL 15, fsync on · ${cpus().length} cores · ${Math.round(totalmem() / 2 ** 30)} GiB · Node ${process.version} · payload ${payload.length} B · median of ${rounds}`,
  )
  if (wants('w1'))
    await compare(
      'w1',
      '1-step workflows',
      { runs: 8000 * scale, steps: 1, width: 1000 },
      'runsPerSecond',
    )
  if (wants('w2'))
    await compare(
      'w2',
      'steps of 10-step workflows',
      { runs: 3000 * scale, steps: 10, width: 1000 },
      'stepsPerSecond',
    )
  if (wants('w3'))
    await measure(
      'w3',
      'idle latency, start to result',
      () => idleLatency(server.url, { runs: 200 }),
      ['p50', 'p99'],
      'ms',
    )
  if (wants('w4'))
    await measure(
      'w4',
      '2,000 sleepers, lateness',
      () => sleepers(server.url, { runs: 2000, afterMs: 4000 }),
      ['p50', 'p99'],
      'ms',
    )
  if (wants('w5'))
    await measure(
      'w5',
      '1,000 waiting runs signalled',
      () => signals(server.url, { runs: 1000 }),
      ['perSecond', 'bytesPerRun'],
      '',
    )
  if (wants('w6'))
    await measure(
      'w6',
      'one run of 1,000 steps',
      () => longRun(server.url, { steps: 1000 }),
      ['earlyMs', 'lateMs', 'ratio', 'coldMs'],
      '',
    )
} finally {
  await server.stop()
}

/** Perdure and the bare loop, one after the other in each round; and the raw statement that the loop must come near. */
async function compare(id, title, load, unit) {
  const ours = []
  const bare = []
  const raw = []
  // Neither side is measured cold: the process is warm for months, and cold for seconds.
  await throughput(server.url, load)
  await bareLoop(server.url, { ...load, payload })
  for (let round = 0; round < rounds; round += 1) {
    ours.push((await throughput(server.url, load))[unit])
    bare.push((await bareLoop(server.url, { ...load, payload }))[unit])
    raw.push((await rawStatement(server.url, { ...load, payload }))[unit])
  }
  const [o, b, r] = [ours, bare, raw].map(median)
  const share = o / b
  const valid =
    b / r >= 0.8 ? '' : `   VOID: the loop is below 80 % of the raw statement (${percent(b / r)})`
  say(
    `${id}  ${title.padEnd(32)} ${rate(o)} /s ${range(ours)}   bare loop ${rate(b)} /s ${range(bare)}   raw ${rate(r)} /s   share ${percent(share)}${valid}`,
  )
}

async function measure(id, title, once, fields, unit) {
  const results = []
  for (let round = 0; round < rounds; round += 1) results.push(await once())
  const shown = fields.map((field) => {
    const values = results.map((result) => result[field])
    return `${field} ${figure(median(values))}${unit && ` ${unit}`} ${range(values)}`
  })
  say(`${id}  ${title.padEnd(32)} ${shown.join('   ')}`)
}

function rate(value) {
  return Math.round(value).toLocaleString('en')
}
function figure(value) {
  return value >= 100 ? rate(value) : value.toFixed(2)
}
function range(values) {
  return rounds === 1 ? '' : `[${figure(Math.min(...values))}..${figure(Math.max(...values))}]`
}
function percent(share) {
  return `${Math.round(share * 100)} %`
}
