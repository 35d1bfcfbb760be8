// The workloads, through the public API only.

import { createEngine, workflow } from '../dist/index.js'

export const PAYLOAD = { text: 'x'.repeat(180) }

const chain = workflow('chain', async (wf, input) => {
  let last = null
  for (let i = 0; i < input.steps; i += 1) last = await wf.do('step', () => PAYLOAD)
  return last
})
const sleeper = workflow('sleeper', async (wf, input) => {
  await wf.sleepUntil('nap', new Date(input.at))
  return await wf.do('woke', () => Date.now() - input.at)
})
const waiter = workflow('waiter', async (wf) => wf.waitFor('go'))

const all = [chain, sleeper, waiter]

export async function withEngine(url, worker, use) {
  const engine = await createEngine({
    database: url,
    schema: `bench_${Date.now().toString(36)}`,
    workflows: all,
    worker,
  })
  try {
    return await use(engine)
  } finally {
    await engine.close()
  }
}

/** `runs` runs of `steps` steps, `width` open at a time: runs and steps per second, start to result. */
export function throughput(url, { runs, steps, width }) {
  return withEngine(url, { concurrency: width }, async (engine) => {
    let next = 0
    const lane = async () => {
      while (next < runs) {
        next += 1
        const run = await engine.start(chain, { steps, input: PAYLOAD })
        await run.result()
      }
    }
    const from = performance.now()
    await Promise.all(Array.from({ length: width }, lane))
    const seconds = (performance.now() - from) / 1000
    return { runsPerSecond: runs / seconds, stepsPerSecond: (runs * steps) / seconds }
  })
}

/** One run at a time on an idle engine: milliseconds from start() to result(). */
export function idleLatency(url, { runs }) {
  return withEngine(url, true, async (engine) => {
    const times = []
    for (let i = 0; i < runs + 20; i += 1) {
      const from = performance.now()
      const run = await engine.start(chain, { steps: 1 })
      await run.result()
      if (i >= 20) times.push(performance.now() - from)
    }
    return spread(times)
  })
}

/** Sleepers that are due within one second: milliseconds too late, measured inside the run. */
export function sleepers(url, { runs, afterMs }) {
  return withEngine(url, { concurrency: 500 }, async (engine) => {
    const at = Date.now() + afterMs
    const handles = await Promise.all(
      Array.from({ length: runs }, (_, i) =>
        engine.start(sleeper, { at: at + Math.round((i * 1000) / runs) }),
      ),
    )
    return spread(await Promise.all(handles.map((run) => run.result())))
  })
}

/** Runs that wait for a signal: all are signalled, completions per second; and the memory each took while it waited. */
export function signals(url, { runs }) {
  return withEngine(url, { concurrency: 500 }, async (engine) => {
    global.gc?.()
    const before = process.memoryUsage().heapUsed
    const handles = await Promise.all(Array.from({ length: runs }, () => engine.start(waiter)))
    await until(async () => (await engine.list({ status: 'running', limit: 1 })).items.length === 0)
    global.gc?.()
    const bytesPerRun = (process.memoryUsage().heapUsed - before) / runs
    const from = performance.now()
    await Promise.all(
      handles.map(async (run) => {
        await run.signal('go', PAYLOAD)
        await run.result()
      }),
    )
    const seconds = (performance.now() - from) / 1000
    return { perSecond: runs / seconds, bytesPerRun }
  })
}

/** One long run: microseconds per step around step 10 and around the last, and what a cold resume costs. */
export function longRun(url, { steps }) {
  const marks = []
  const long = workflow('long', async (wf) => {
    for (let i = 0; i < steps; i += 1) {
      await wf.do('step', () => {
        marks.push(performance.now())
        return PAYLOAD
      })
    }
    await wf.waitFor('go')
    return steps
  })
  return withSchema(url, async (open) => {
    const engine = await open([long])
    // Once unmeasured: a process that is still warming up would make its first steps look dear.
    const warm = await engine.start(long)
    await until(async () => (await warm.status()) === 'waiting')
    marks.length = 0
    const run = await engine.start(long)
    await until(async () => (await run.status()) === 'waiting')
    // The median step of each stretch: the disk has its moods.
    const steps200 = (from) =>
      median(marks.slice(from + 1, from + 201).map((at, i) => at - marks[from + i]))
    const early = steps200(10)
    const late = steps200(steps - 201)
    await engine.close()
    const again = await open([long])
    const from = performance.now()
    await again.signal(run.id, 'go')
    await again.handle(long, run.id).result()
    const coldMs = performance.now() - from
    await again.close()
    return { earlyMs: early, lateMs: late, ratio: late / early, coldMs }
  })
}

async function withSchema(url, use) {
  const schema = `bench_${Date.now().toString(36)}`
  return use((workflows) => createEngine({ database: url, schema, workflows }))
}

async function until(met) {
  while (!(await met())) await new Promise((resolve) => setTimeout(resolve, 20))
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

function spread(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}
