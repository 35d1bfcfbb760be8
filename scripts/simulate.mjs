// npm run simulate [-- --seeds 1000000 --from 1 --minutes 60 --threads 2 --record]
// npm run simulate -- --seed 7 [--workers 2 --faults 3,17 --plans 0,4]
// npm run simulate -- --shrink 7
// npm run simulate -- --mutants [--record]
// npm run simulate -- --races
// npm run simulate -- --differential 100 [--from 1 --minutes 60 --record]
//
// Random worlds with crashes, pauses, lost answers and clocks that jump: the whole kernel on a store in memory. The
// first form runs many seeds on all cores; --record writes what they came to into docs/figures/simulation.json. The
// second runs one world and prints all that happens in it, the third makes a world that breaks a promise smaller. The
// fourth says how many worlds it takes to notice each deliberate defect; the fifth meets each kind of race at one run
// thousands of times; the last makes the same random calls on every store. Exit code 1 if a promise is broken.

import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { failWith } from './bootstrap.mjs'
import { record } from './figures.mjs'
import { transpiled } from './transpile.mjs'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '60' },
    threads: { type: 'string', default: String(availableParallelism()) },
    record: { type: 'boolean', default: false },
    seed: { type: 'string' },
    shrink: { type: 'string' },
    mutants: { type: 'boolean', default: false },
    races: { type: 'boolean', default: false },
    differential: { type: 'string' },
    workers: { type: 'string' },
    faults: { type: 'string' },
    plans: { type: 'string' },
  },
})
/** Seeds that a thread gets at once. */
const CHUNK = 50
/** Each defect is looked for so often, from other seeds on. */
const ROUNDS = 5
const SEEDS_MAX = 2_000

const folder = join(await transpiled(['src', 'test/simulation']).catch(failWith), 'test/simulation')
const load = (name) => import(pathToFileURL(join(folder, name)).href)

const first = Number(values.from)
const until = performance.now() + Number(values.minutes) * 60_000

if (values.mutants) process.exit(await mutants())
if (values.races) process.exit(await races())
if (values.differential !== undefined) process.exit(await different(Number(values.differential)))
if (values.shrink !== undefined) process.exit(await smaller(Number(values.shrink)))
if (values.seed !== undefined) process.exit(await one(Number(values.seed)))
process.exit(await many())

async function races() {
  process.env.PERDURE_RACES = 'all'
  const { runVitest } = await import('./vitest.mjs')
  const { code } = await runVitest(['--project', 'simulation', 'test/simulation/races.test.ts'])
  return code
}

async function many() {
  const { add, newTotal } = await load('many.js')
  const total = newTotal()
  const startedAt = performance.now()
  const end = first + Number(values.seeds)
  let next = first
  const broken = []
  const seconds = () => (performance.now() - startedAt) / 1000
  const state = () => {
    const speed = Math.round(total.events / Math.max(seconds(), 0.001))
    const speech = `${total.seeds} seeds, ${total.events} events, ${Math.round(seconds())} s, ${speed} events/s, ${broken.length} broken`
    return speech
  }
  const showing = setInterval(
    () => {
      if (process.stdout.isTTY) process.stdout.write(`\r${state()} `)
      else console.log(state())
    },
    process.stdout.isTTY ? 500 : 10_000,
  )
  const thread = () =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL('./simulate-thread.mjs', import.meta.url), {
        workerData: { folder },
        // Worlds live for moments: less is collected in vain.
        resourceLimits: { maxYoungGenerationSizeMb: 128 },
      })
      const goOn = () => {
        if (next >= end || broken.length > 0 || performance.now() >= until) {
          return void worker.terminate().then(resolve)
        }
        const count = Math.min(CHUNK, end - next)
        worker.postMessage({ first: next, count })
        next += count
      }
      worker.on('error', reject)
      worker.on('message', (done) => {
        add(total, done.total)
        if (done.broken) broken.push(done.broken)
        goOn()
      })
      goOn()
    })
  await Promise.all(Array.from({ length: Number(values.threads) }, thread))
  clearInterval(showing)
  if (process.stdout.isTTY) process.stdout.write('\n')
  for (const { text } of broken) console.log(`\n${text}`)
  const rare = Object.entries(total.rare).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [name, count] of rare) console.log(`${String(count).padStart(10)}  ${name}`)
  console.log(state())
  if (values.record && broken.length === 0) {
    const { seeds, events } = total
    const { missing, RARE_NAMES } = await load('rare.js')
    const met = RARE_NAMES.length - missing(total.rare).length
    const figures = { seeds, events, first, rareStates: RARE_NAMES.length, met }
    record('simulation', { ...figures, seconds: Math.round(seconds()), rare: total.rare })
  }
  return broken.length > 0 ? 1 : 0
}

async function mutants() {
  const { MUTANTS, NOT_HERE, notice } = await load('mutants.js')
  const table = []
  let unnoticed = 0
  for (const mutant of MUTANTS) {
    const needed = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const noticed = await notice(mutant, first + round * SEEDS_MAX, SEEDS_MAX)
      needed.push(noticed?.seeds ?? null)
    }
    const { name, where, canary = null } = mutant
    const seeds = needed.toSorted((a, b) => (a ?? Infinity) - (b ?? Infinity))[ROUNDS >> 1]
    if (needed.includes(null)) unnoticed += 1
    table.push({ name, where, canary, seeds })
    console.log(`${name.padEnd(26)} ${where.padEnd(8)} ${needed.join(', ')}`)
  }
  console.log(`${MUTANTS.length} defects, ${unnoticed} unnoticed`)
  if (values.record) record('mutants', { rounds: ROUNDS, first, table, notHere: NOT_HERE })
  return unnoticed > 0 ? 1 : 0
}

async function different(seeds) {
  const { differential } = await import('./differential.mjs')
  const { code, figures } = await differential({ first, seeds, steps: 1_000, until })
  if (values.record && code === 0) record('differential', figures)
  return code
}

async function one(seed) {
  const { shown } = await load('scheduler.js')
  const { runSeed } = await load('seed.js')
  shown.events = Number.POSITIVE_INFINITY
  const { cut } = await load('shrink.js')
  const numbers = (list) => list?.split(',').filter(Boolean).map(Number)
  const isCut = values.workers !== undefined
  const left = {
    workers: Number(values.workers),
    faults: numbers(values.faults),
    plans: numbers(values.plans),
  }
  const verdict = await runSeed(seed, isCut ? cut({}, left) : {})
  for (const line of verdict.last) console.log(line)
  console.log(JSON.stringify(verdict.options))
  console.log(
    `seed ${seed}, ${verdict.events} events, ${verdict.runs} runs, trace hash ${verdict.hash.toString(16)}`,
  )
  console.log(verdict.failure ?? 'every promise was kept')
  return verdict.failure === null ? 0 : 1
}

async function smaller(seed) {
  const { shrink } = await load('shrink.js')
  const shrunk = await shrink(seed)
  if (!shrunk) {
    console.log(`the world of seed ${seed} keeps every promise`)
    return 0
  }
  const { verdict, workers, faults, plans, tries } = shrunk
  for (const line of verdict.last) console.log(`  ${line}`)
  console.log(verdict.failure)
  const kinds = faults.map((n) => verdict.struck[n]?.kind ?? '-')
  console.log(
    `left after ${tries} tries: ${workers} workers, ${plans.length} calls, ${faults.length} faults (${kinds.join(', ')})`,
  )
  console.log(
    `again: npm run simulate -- --seed ${seed} --workers ${workers} --faults ${faults.join(',') || '""'} --plans ${plans.join(',') || '""'}`,
  )
  return 1
}
