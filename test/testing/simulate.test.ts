// simulate: a workflow of the user under crashes, duplicates, delays and pauses.

import { expect, onTestFinished, test, vi } from 'vitest'
import { task, workflow } from '../../src/index.js'
import { effect, simulate, type TestEngine } from '../../src/testing/index.js'
import { refusalOf } from '../support/world.js'

// ── steps that run twice ────────────────────────────────────────────────────────────────────────────────────

const careless = workflow('careless', async (wf, amount: number) => {
  await wf.do('quote', (step) => `${step.key} costs ${amount}`)
  await wf.do('charge', () => `charged ${amount}`)
  await wf.sleep('cooling off', '2 days')
  return 'shipped'
})

test('a step that is not idempotent is found, and its seed shows it again', async () => {
  const report = await simulate(careless, { input: 100, seeds: 5, crash: 'every-step' })
  expect(report).toMatchObject({ ok: false })
  const { finding } = report
  expect(finding).toMatchObject({
    kind: 'unkeyed-step',
    workflow: 'careless',
    runId: 'simulated',
    step: 'charge',
    attempt: 1,
  })
  const { seed = 0 } = finding ?? {}
  expect(seed).toBeGreaterThan(0)
  expect(report.text).toBe(
    [
      `Seed ${seed}: Step "charge" of "careless" ran twice, and its code does not use its key.`,
      '  1. worker 1 ran "quote"',
      '  2. worker 1 ran "charge"',
      '  3. worker 1 died: "charge" had run, and that was not recorded',
      '  4. worker 2 ran "charge"',
      'What to do: hand step.key to what it changes outside, or write into your own database in wf.transaction; if doing it twice is harmless, say so: repeatable: ["charge"].',
      `Again: simulate(careless, { …, seeds: [${seed}] })`,
    ].join('\n'),
  )
  const again = await simulate(careless, { input: 100, seeds: [seed] })
  expect(again.finding).toEqual(finding)
  expect(again.seeds).toBe(1)
})

test('a step that uses its key passes, and so does one that may be repeated', async () => {
  const careful = workflow('careful', async (wf, amount: number) => {
    await wf.do('look', () => `costs ${amount}`)
    return wf.do('charge', (step) => `${amount} ${step.key.includes('charge')}`)
  })
  const report = await simulate(careful, { input: 100, seeds: 20, repeatable: ['look'] })
  expect(report.text).toMatch(/^"careful" ended the same way \(completed\) with every seed, and/)
  expect(report.text).toMatch(
    /\d+ seeds: \d+ crashes \(one at each of \d+ points\), \d+ pauses, \d+ duplicates, \d+ delays, \d+ lost answers\.$/,
  )
  const outcome = { status: 'completed', output: '100 true' }
  expect(report).toMatchObject({ ok: true, finding: null, outcome })
  expect(report.crashPoints).toBeGreaterThan(4)
  expect(report.seeds).toBe(20 + report.crashPoints)
  expect(report.crashes).toBeGreaterThan(report.crashPoints)
  expect(report.orThrow()).toBe(report)
  expect((await simulate(careful, { input: 1, seeds: 0, repeatable: true })).ok).toBe(true)
})

test('a task that is not idempotent is found by its name', async () => {
  const send = task('send', (text: string) => `sent ${text}`)
  const welcome = workflow('welcome', (wf) => wf.do('say hello', send, 'hello'))
  const report = await simulate(welcome, { workflows: [send], seeds: 0 })
  expect(report.finding).toMatchObject({ kind: 'unkeyed-step', workflow: 'send', step: 'send' })
  expect(report.text).toContain('Task "send" ran twice')
  for (const name of ['send', 'say hello']) {
    const allowed = { workflows: [send], seeds: 10, repeatable: [name] }
    expect(await simulate(welcome, allowed)).toMatchObject({ ok: true })
  }
})

test('an undo that is not idempotent is found', async () => {
  const failing = workflow('failing', async (wf) => {
    await wf.do('reserve', (step) => step.key.length > 0, { undo: () => 'released' })
    throw new Error('sold out')
  })
  const report = await simulate(failing, { seeds: 0 })
  expect(report.finding).toMatchObject({ kind: 'unkeyed-step', step: 'undo:reserve' })
  const allowed = await simulate(failing, { seeds: 5, repeatable: ['undo:reserve'] })
  expect(allowed.text).toMatch(/^"failing" ended the same way \(failed: sold out\) with every seed/)
})

test('steps whose code a stub replaces are not judged', async () => {
  const report = await simulate(careless, {
    input: 1,
    seeds: 10,
    setup: (engine) => engine.stub(careless, 'charge', () => 'stubbed'),
  })
  expect(report.text).toMatch(/^"careless" ended the same way/)
})

// ── effects ─────────────────────────────────────────────────────────────────────────────────────────────────

/** A bank, new in each life, and a workflow that hands it what `key` makes of the key of its step. */
function bankOf(key: (stepKey: string) => unknown) {
  const charged: number[] = []
  const charge = effect('charge at the bank', async (amount: number, headers: object) => {
    charged.push(amount)
    return { id: charged.length, headers: Object.keys(headers).length }
  })
  const order = workflow('order', async (wf, amount: number) => {
    const { id } = await wf.do('charge', (step) => charge(amount, { key: key(step.key) }))
    return id
  })
  const scenario = async (engine: TestEngine) => {
    const run = await engine.start(order, 100)
    return [await run.result(), charged.length]
  }
  return { charged, order, scenario, setup: () => void charged.splice(0) }
}

test('an effect that carries the key of its step happens once', async () => {
  const { order, scenario, setup } = bankOf((key) => [`idempotency ${key}`])
  const report = await simulate(order, { scenario, setup, seeds: 30 })
  expect(report.text).toMatch(/^"order" ended the same way/)
})

test('an effect without a key is found, with both calls', async () => {
  const { order, scenario, setup } = bankOf(() => undefined)
  const report = await simulate(order, { scenario, setup, seeds: 0 })
  expect(report.finding).toMatchObject({
    kind: 'repeated',
    effect: 'charge at the bank',
    step: 'charge',
    trace: [
      'worker 1 ran "charge": charge at the bank(100, { key: undefined }), without a key',
      'worker 1 died: "charge" had run, and that was not recorded',
      'worker 2 ran "charge": charge at the bank(100, { key: undefined }), without a key',
    ],
  })
  const repeatable = ['charge at the bank']
  const allowed = await simulate(order, { setup, input: 100, seeds: 0, repeatable })
  // It happened twice, and the workflow returns how often.
  expect(allowed.finding).toMatchObject({ kind: 'outcome' })
})

test('an effect whose key is another one each time is found', async () => {
  let count = 0
  const { order, scenario, setup } = bankOf((key) => {
    count += 1
    return `${key} ${count}`
  })
  const report = await simulate(order, { scenario, setup, seeds: 0 })
  expect(report.finding).toMatchObject({ kind: 'other-key', step: 'charge' })
  expect(report.text).toContain('with another key the second time')
})

test('what a service takes for the key can be said', async () => {
  const saved = new Map<string, number>()
  const save = effect('save', (id: string, n: number) => void saved.set(id, n), { key: (id) => id })
  const saving = workflow('saving', (wf, id: string) => wf.do('save', () => save(id, 1)))
  expect(await simulate(saving, { input: 'a', seeds: 5 })).toMatchObject({ ok: true })
})

test('a step with several effects is judged by each of them', async () => {
  const mail = effect('mail', (to: string, key?: string) => `${to} ${key?.length}`)
  const both = workflow('both', (wf) =>
    wf.do(
      'tell',
      async (step) => {
        mail('ada', `${step.key}/ada`)
        mail('bob', `${step.key}/bob`)
        if (step.attempt === 1) throw new Error('a moment')
        mail('eve', `${step.key}/eve`)
        return 'told'
      },
      { retries: 2 },
    ),
  )
  expect((await simulate(both, { seeds: 20 })).text).toMatch(/^"both" ended the same way/)
})

test('an effect that the function of a workflow calls itself is found', async () => {
  const mail = effect('mail', (to: string) => `mailed ${to}`)
  const direct = workflow('direct', async (wf) => {
    mail('ada')
    await wf.sleep('a day', '1 day')
  })
  const report = await simulate(direct, { seeds: 0 })
  expect(report.finding).toMatchObject({ kind: 'outside-step', effect: 'mail', seed: 0 })
  expect(report.text).toContain('put it into a step')
})

test('outside of a simulation an effect is the function itself', async () => {
  const fn = vi.fn((n: number) => n + 1)
  const add = effect('add', fn)
  expect(add(1)).toBe(2)
  expect(fn.mock.calls).toEqual([[1]])
  const wrap = effect as (...args: unknown[]) => unknown
  expect(() => wrap('', fn)).toThrow('Option "name" in effect')
  expect(() => wrap('add', 1)).toThrow('Option "fn" in effect')
  expect(() => wrap('add', fn, { key: 'id' })).toThrow('Option "key" in effect')
})

// ── workflows that do not replay ────────────────────────────────────────────────────────────────────────────

test('a body that chance decides is reported', async () => {
  const gambling = workflow('gambling', async (wf) => {
    for (let i = 0; i < 20; i += 1) await wf.do(Math.random() < 0.5 ? 'heads' : 'tails', () => i)
    return 'enough'
  })
  const report = await simulate(gambling, { repeatable: true, seeds: 0 })
  expect(report.finding?.kind).toBe('diverged')
  expect(report.text).toMatch(/asked something else when it was replayed\. .*(heads|tails)/)
  expect(report.text).toContain('wf.random()')
})

test('a result that chance decides is reported as such', async () => {
  const lucky = workflow('lucky', (wf) => wf.do('draw', (step) => step.key + Math.random()))
  const report = await simulate(lucky, { seeds: 0 })
  expect(report.finding).toMatchObject({ kind: 'unstable', seed: 0 })
  expect(report.text).toContain('Two lives in which nothing goes wrong end differently')
})

test('state outside of the steps is found by what it changes', async () => {
  let calls = 0
  const forgetful = workflow('forgetful', async (wf) => {
    calls += 1
    const isFirst = calls === 1
    await wf.do('first', () => 1)
    return wf.do('second', () => (isFirst ? 'as before' : 'called again'))
  })
  const report = await simulate(forgetful, {
    repeatable: ['first', 'second'],
    setup: () => {
      calls = 0
    },
  })
  expect(report.finding).toMatchObject({ kind: 'outcome', workflow: 'forgetful' })
  expect(report.text).toContain('as before')
  expect(report.text).toContain('called again')
})

// ── what goes wrong ─────────────────────────────────────────────────────────────────────────────────────────

const charge = task('charge', (amount: number, step) => ({ paid: amount, by: step.key.length > 0 }))
const trip = workflow('trip', async (wf, amount: number) => {
  wf.setState('begun')
  const rooms: string[] = []
  const [payment, seats] = await Promise.all([
    wf.do('charge', charge, amount, { undo: (_, step) => step.key }),
    wf.do('seats', (step) => step.key.length > 0, { undo: (_, step) => step.key }),
  ])
  for (;;) {
    const { name, payload } = await wf.waitFor(['room', 'leave'], { timeout: '3 days' })
    if (name === 'leave') break
    rooms.push(payload as string)
  }
  await wf.sleep('the journey', '2 days')
  wf.setState('home')
  if (amount > 100) throw new Error('too expensive')
  return { payment, seats, rooms }
})
const scenarioOf = (amount: number) => ({
  workflows: [charge],
  scenario: async (engine: TestEngine) => {
    const run = await engine.start(trip, amount)
    await engine.settle()
    for (const room of ['sea', 'garden', 'roof']) await run.signal('room', room)
    await run.signal('leave')
    await engine.advance('2 days')
    const { status, output, error, state, undo } = await run.get()
    // The two are done in any order, and undone in the other one.
    const undone = undo.map(({ step, state }) => `${step} ${state}`).sort()
    return { status, output, error: error?.message, state, undone }
  },
})

test.each([
  ['comes to its end', 100],
  ['is undone', 200],
])('a workflow with signals, sleeps and children that %s passes', async (_, amount) => {
  const report = await simulate(trip, { ...scenarioOf(amount), seeds: 25 })
  expect(report.text).toMatch(/^"trip" ended the same way with every seed/)
  expect(report.crashPoints).toBeGreaterThan(15)
})

test('a worker that was stopped goes on with its step when another has done it', async () => {
  const alone = { input: 1, crash: false, faults: ['pauses'], seeds: 40 } as const
  const report = await simulate(careless, alone)
  expect(report.finding).toMatchObject({ kind: 'unkeyed-step', step: 'charge' })
  expect(report.text).toContain('once by a worker that had lost the run')
  expect(report.finding?.trace).toEqual(
    expect.arrayContaining([
      'worker 1 was stopped when "charge" had just begun; another took its place',
      'worker 1 woke up and went on',
    ]),
  )
  const again = await simulate(careless, { ...alone, seeds: [report.finding?.seed ?? 0] })
  expect(again.finding).toEqual(report.finding)
})

test('what a caller sends twice is heard once', async () => {
  const heard: string[] = []
  const counting = workflow('counting', async (wf) => {
    const all: unknown[] = []
    while (all.length < 3) all.push(await wf.waitFor('add'))
    return all
  })
  const report = await simulate(counting, {
    crash: false,
    faults: ['duplicates'],
    seeds: 30,
    scenario: async (engine) => {
      const run = await engine.start(counting)
      for (const n of [1, 2, 3]) await run.signal('add', n)
      const { items } = await engine.list()
      heard.push(`${await run.result()} ${items.length}`)
      return heard.at(-1)
    },
  })
  expect(report).toMatchObject({ ok: true, seeds: 30, crashPoints: 0, crashes: 0 })
  expect(report.faults.duplicates).toBeGreaterThan(10)
  expect(report.faults).toMatchObject({ pauses: 0, delays: 0, 'lost-answers': 0 })
  expect(new Set(heard)).toEqual(new Set(['1,2,3 1']))
})

test('a result that hangs on which step is the faster one is found by delays', async () => {
  const racing = workflow('racing', async (wf) => {
    const order: string[] = []
    const done = (name: string) => wf.do(name, () => name).then((said) => order.push(said))
    await Promise.all([done('a'), done('b')])
    return order
  })
  const alone = { crash: false, faults: ['delays'], repeatable: true, seeds: 40 } as const
  const report = await simulate(racing, alone)
  expect(report.finding).toMatchObject({ kind: 'outcome' })
  expect(report.text).toContain("With: { status: 'completed', output: [ 'b', 'a' ]")
})

test('an answer of the database that is lost changes nothing', async () => {
  const alone = { crash: false, faults: ['lost-answers'], seeds: 20 } as const
  const report = await simulate(trip, { ...scenarioOf(100), ...alone })
  expect(report).toMatchObject({ ok: true, seeds: 20, crashes: 0 })
  expect(report.faults['lost-answers']).toBeGreaterThan(5)
})

test('what a worker was about to store when it died is not stored', async () => {
  // These seeds have shown it, in a run that nobody had any more.
  const report = await simulate(trip, { ...scenarioOf(100), seeds: [94, 144, 186, 192] })
  expect(report.text).toMatch(/^"trip" ended the same way/)
})

// ── how it is asked ─────────────────────────────────────────────────────────────────────────────────────────

test('a finding is thrown on demand, as people should see it', async () => {
  const report = await simulate(careless, { input: 1, seeds: 0 })
  const error = await refusalOf(Promise.resolve().then(() => report.orThrow()))
  expect(error).toMatchObject({
    code: 'SIMULATION_FAILED',
    step: 'charge',
    details: { attempt: 1 },
  })
  expect(error.message).toBe(report.text)
})

test('the workflow has its other engine options, and is told to nobody unless a log is given', async () => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => said.mockRestore())
  const dated = workflow('dated', async (wf) => {
    wf.log.warn('it begins')
    return wf.now()
  })
  const seen: unknown[] = []
  const now = new Date('2030-01-01')
  const once = { engine: { now }, seeds: 0, crash: false } as const
  await simulate(dated, {
    ...once,
    scenario: async (engine) => seen.push(await (await engine.start(dated)).result()),
  })
  expect(seen[0]).toEqual(now)
  expect(said).not.toHaveBeenCalled()
})

test('a run that waits for somebody asks for a scenario', async () => {
  const waiting = workflow('waiting', (wf) => wf.waitFor('approval'))
  const error = await refusalOf(simulate(waiting))
  expect(error.code).toBe('OPTION_INVALID')
  expect(error.message).toMatch(/^simulate cannot bring a run of "waiting" to its end: .*approval/)
  expect(error.hint).toContain('scenario: async (engine) =>')
})

test('a scenario that throws when nothing goes wrong throws that', async () => {
  const wrong = simulate(careless, { scenario: () => Promise.reject(new Error('my own mistake')) })
  await expect(wrong).rejects.toThrow('my own mistake')
})

test.each([
  [{ seeds: -1 }, 'Option "seeds" in simulate cannot be -1'],
  [{ seeds: [] }, 'Option "seeds" in simulate'],
  [{ seeds: [1.5] }, 'Option "seeds" in simulate'],
  [{ crash: 'often' }, 'Option "crash" in simulate cannot be "often": it must be \'every-step\''],
  [{ crash: true }, 'Option "crash" in simulate'],
  [{ faults: 'delays' }, 'Option "faults" in simulate'],
  [{ faults: ['delay'] }, 'Option "faults" in simulate cannot be "delay"'],
  [{ repeatable: 'charge' }, 'Option "repeatable" in simulate'],
  [{ repeatable: [''] }, 'Option "repeatable" in simulate'],
  [{ setup: 1 }, 'Option "setup" in simulate'],
  [{ scenario: 'start it' }, 'Option "scenario" in simulate'],
  [{ scenario: async () => 1, input: 1 }, 'Option "input" in simulate'],
  [{ workflows: careless }, 'Option "workflows" in simulate'],
  [{ engine: 1 }, 'Option "engine" in simulate'],
  [{ engine: { database: 'memory:' } }, 'Unknown option "database"'],
  [{ crashes: 1 }, 'Unknown option "crashes" in simulate'],
  ['every-step', 'Option "options" in simulate'],
])('options that make no sense get one clear error: %j', async (options, message) => {
  const error = await refusalOf(simulate(careless, options as never))
  expect(error.message).toContain(message)
})

test('a fault that is misspelt gets the right one, and what is no workflow is named', async () => {
  const misspelt = await refusalOf(simulate(careless, { faults: ['pause' as never] }))
  expect(misspelt.hint).toBe("did you mean 'pauses'?")
  const nothing = await refusalOf(simulate((() => 1) as never))
  expect(nothing.message).toContain('it must be given a workflow or a task')
})
