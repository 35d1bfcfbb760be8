// npm run bench: Perdure next to its peers and to two bounds, in the same run, in turns, on one PostgreSQL with
// fsync on. Installs the peers of bench/package.json by itself. A whole run writes docs/benchmarks.md.
//
//   npm run bench                            everything, three rounds: about 25 minutes
//   npm run bench -- --quick --peers dbos    one round of w1 … w6, smaller: under three minutes
//   npm run bench -- --only w2,w3            some of w1 … w8, w10 … w13, statements
//   npm run bench -- --peers none            none, all, or some of dbos,openworkflow,restate,bullmq,graphile
//   npm run bench -- --rounds 5              instead of 3
//   npm run bench -- --only w4 --add         puts what was measured apart into the page of the last whole run, and says so;
//                                            with all peers that it is about
//   npm run bench -- --page                  writes the page again from the figures of the last whole run
//
// The figures of the last run, whole or not, are in .cache/bench.json.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bootstrap, CACHE, failWith, install, ROOT } from './bootstrap.mjs'

const FIGURES = join(ROOT, 'bench/figures.json')
const LAST = join(CACHE, 'bench.json')
const PAGE = join(ROOT, 'docs/benchmarks.md')

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    page: { type: 'boolean', default: false },
    add: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
    peers: { type: 'string', default: 'all' },
  },
})
const say = (text) => process.stdout.write(`${text}\n`)

const { built } = await bootstrap().catch(failWith)
if (!built) process.exit(1)
const report = await import('../bench/report.mjs')
if (values.page) writePage(JSON.parse(readFileSync(FIGURES, 'utf8')))
else await bench().catch(failWith)

async function bench() {
  const { PEERS } = await import('../bench/systems.mjs')
  const { plan, ROUNDS, transports } = await import('../bench/plan.mjs')
  const { Runner } = await import('../bench/runner.mjs')
  const peers = chosen(values.peers, PEERS)
  const only = values.only?.split(',')
  const apart = only?.includes('w13') ? transports(values) : []
  const all = [...plan(values), ...apart]
  const measures = all.filter(({ id, of = id }) => !only || only.includes(of))
  if (measures.length === 0)
    throw new Error(`--only ${values.only}: w1 … w8, w10 … w13 or statements`)
  if (peers.length > 0 || measures.some(({ id }) => ['service', 'machines'].includes(id))) {
    // Without install scripts: none is needed, and one of them reports home.
    await install(join(ROOT, 'bench'), ['--ignore-scripts']).catch(({ message }) => say(message))
  }
  const startedAt = Date.now()
  const rounds = Number(values.rounds ?? (values.quick ? 1 : ROUNDS))
  const runner = new Runner({ say })
  process.once('SIGINT', () => process.exit(130)) // servers and children end with this process
  try {
    await runner.open({ peers })
    for (let round = 0; round < rounds; round += 1) {
      for (const measure of measures) await runner.measure(measure, round)
    }
  } finally {
    await runner.close()
  }
  const { figures } = runner
  for (const make of ['systemTable', 'ratioTable', 'ownTable', 'statementTable', 'goalTable']) {
    const text = report[make](figures)
    if (text) say(`\n${text}`)
  }
  for (const line of runner.absent) say(`not available: ${line}`)
  say(report.warning(runner.about()))
  const minutes = Math.ceil((Date.now() - startedAt) / 60_000)
  const recorded = { ...runner.about(), minutes, rounds, absent: runner.absent, figures }
  writeFileSync(LAST, json(recorded)) // for whoever wants to compare two runs
  const isWith = (name) => peers.includes(name) || !PEERS.includes(name)
  const isWhole = !values.quick && measures.every((one) => partners(one, PEERS).every(isWith))
  if (isWhole && !only) writePage(recorded)
  else if (isWhole && values.add) writePage(added(recorded, measures))
  else say('\nThis was not the whole bench: docs/benchmarks.md stays as it is.')
}

/** The systems that a measure is about, as far as the plan says. */
function partners({ systems }, all) {
  if (systems === 'own') return []
  return Array.isArray(systems) ? systems : all
}

/** What was measured apart takes the place of what the last whole run has, and is said to be so. */
function added({ date, rounds, figures }, measures) {
  const whole = JSON.parse(readFileSync(FIGURES, 'utf8'))
  if (rounds !== whole.rounds)
    throw new Error(`the whole run had ${whole.rounds} rounds, this one ${rounds}`)
  const apart = { ...whole.apart }
  for (const { id, of = id } of measures) apart[of.toUpperCase()] = date
  return { ...whole, apart, figures: { ...whole.figures, ...figures } }
}

function json(value) {
  return `${JSON.stringify(value, null, 2)}\n`
}

function chosen(text, all) {
  if (text === 'all') return all
  if (text === 'none') return []
  const names = text.split(',')
  const unknown = names.find((name) => !all.includes(name))
  if (unknown) throw new Error(`--peers ${unknown}: none, all, or some of ${all.join(',')}`)
  return names
}

function writePage(recorded) {
  writeFileSync(FIGURES, json(recorded))
  writeFileSync(PAGE, report.page(recorded))
  say('\nwritten: docs/benchmarks.md')
}
