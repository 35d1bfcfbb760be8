// One kernel, three styles: a program that was executed as a machine or a graph, in whatever has happened to it, has the effects that it
// has as a function which nothing happens to.

import type { RunId, Uid } from '../../src/model/ids.js'
import { isFinal } from '../../src/model/run.js'
import type { MemoryRun } from '../../src/store/memory.js'
import { Clients } from './clients.js'
import { functionOps } from './machines.js'
import { optionsOf } from './options.js'
import { type Op, POISON, type StepSpec } from './programs.js'
import { World } from './world.js'

const CALM = { workers: 1, concurrency: 8, framesMax: 50, split: false, drift: 0, starts: 0 }
const NO_CALLS = { signals: 0, cancels: 0, retries: 0, closes: 0, rests: 0, messages: 0, races: 0 }
const NOTHING_WRONG = { others: 0, machines: 1, mailboxMax: 10_000, crowdMs: 0 }
const WITHIN_MS = 300_000

/** What is different; null: nothing. */
export async function differsFromFunction(world: World, row: MemoryRun): Promise<string | null> {
  const family = familyOf(world, row.uid)
  const { definition } = row.run
  if (!['machine', 'graph'].includes(definition) || !isComparable(family)) return null
  const ops = JSON.parse(row.run.input) as readonly Op[]
  if (isLuck(ops)) return null
  const other = await asFunction(functionOps(ops))
  if (typeof other === 'string') return `${row.run.input} as a function: ${other}`
  const [is, was] = [ledgerOf(family), ledgerOf(other)]
  const style = definition === 'graph' ? 'graph' : 'machine'
  world.rare[`${style}: has the effects of the function`] += 1
  if (is === was) return null
  return `${row.uid} ${row.run.input} as a ${definition}: ${is}; as a function: ${was}`
}

/** Which of several branches came how far, before one of them failed, is a matter of luck. */
function isLuck(ops: readonly Op[]): boolean {
  return ops.some((op) => op.op === 'all' && op.branches.some(fails)) || insideOf(ops).some(isLuck)
}

function fails(ops: readonly Op[]): boolean {
  return ops.some((op) => {
    if (op.op === 'step') return failsForGood(op.step)
    if (op.op === 'child' && op.definition === 'task') return failsForGood(JSON.parse(op.input))
    return op.op === 'throw' || (op.op !== 'try' && insideOf([op]).some(fails))
  })
}

const failsForGood = ({ fails: times, retries }: StepSpec): boolean => times > retries

function insideOf(ops: readonly Op[]): readonly (readonly Op[])[] {
  return ops.flatMap((op) => {
    if ('branches' in op) return op.branches
    if ('ops' in op) return [op.ops]
    return op.op === 'child' && op.definition !== 'task' ? [JSON.parse(op.input)] : []
  })
}

/** It and all that it has started, itself first. */
function familyOf({ memory }: World, uid: Uid): readonly MemoryRun[] {
  const row = memory.runs.get(uid)
  const children = [...memory.runs.values()].filter(({ run }) => run.parent?.uid === uid)
  return [
    ...(row ? [row] : []),
    ...children.flatMap((child) => familyOf({ memory } as World, child.uid)),
  ]
}

/** It came to its end by itself. */
function isComparable(family: readonly MemoryRun[]): boolean {
  return family.every(({ status, run, journal, messages }) => {
    const text = journal.at(-1)?.payload ?? ''
    const isLuck = /VALUE_UNSTORABLE|WORKER_CRASHED/.test(text)
    const isTouched = journal.some(({ kind }) => kind === 'run.reopened' || kind === 'run.stopping')
    const isRetried = messages.some(({ name, takenSeq }) => name === '(retry)' && takenSeq)
    const isEnded = status === 'completed' || status === 'failed'
    // What takes longer than it may is a matter of luck, too.
    const isTimed = /(timeoutMs\\*":\d|(bomb|poison)\\*":true)/.test(run.input)
    return isEnded && !isLuck && !isTouched && !isRetried && !isTimed && !run.input.includes(POISON)
  })
}

/** The outcomes of steps that are of the program itself, of all runs together, and how it ended. */
function ledgerOf(family: readonly MemoryRun[]): string {
  const effects = family.flatMap(({ journal }) =>
    journal.flatMap(({ kind, name, attempt }) => {
      const own = /(?:^|\/)(?:n\d+-)?([a-f]|run)$/.exec(name)?.[1]
      return own && kind.startsWith('step.') && kind !== 'step.asked'
        ? [`${own} ${kind} ${attempt}`]
        : []
    }),
  )
  return [family[0]?.status, ...effects.sort()].join(', ')
}

async function asFunction(ops: readonly Op[]): Promise<readonly MemoryRun[] | string> {
  const options = { ...optionsOf(1), ...CALM, ...NO_CALLS, ...NOTHING_WRONG }
  const world = new World({ ...options, chaosMs: 0 })
  world.heal()
  const clients = new Clients(world)
  world.boot(0)
  const { scheduler, memory } = world
  await scheduler.run(100, () => world.open.length > 0, 1_000)
  const id = 'f' as RunId
  const request = { id, workspace: 'default', definition: 'flow', input: JSON.stringify(ops) }
  const more = { version: null, tags: {}, priority: 5, delayMs: 0, timeoutMs: null }
  world.open[0]?.kernel?.start({ ...request, ...more }).catch(() => {})
  const isOver = (): boolean => {
    const rows = [...memory.runs.values()]
    return rows.length > 0 && rows.every(({ status }) => isFinal(status))
  }
  while (!isOver() && !scheduler.failure && scheduler.now < WITHIN_MS) {
    await scheduler.run(scheduler.now + 500, isOver, 60_000)
    clients.answerAll()
  }
  const row = memory.find('default', id)
  if (scheduler.failure || !row || !isFinal(row.status))
    return scheduler.failure ?? 'it did not end'
  return familyOf(world, row.uid)
}
