// Nodes that contain others: those whose `parent` they are.

import { decode, encode } from '../../model/codec.js'
import { errorRecord, isFatalRecord } from '../../model/error-record.js'
import { PerdureError, shown } from '../../model/errors.js'
import type { Failure, Turn } from '../../model/program.js'
import { decideRetry, NO_RETRY } from '../../model/retry.js'
import type { RetryPolicy, Stored } from '../../model/run.js'
import { readRetry } from '../options.js'
import { failureOf } from '../recorded.js'
import { categoryOf, isCaught } from './categories.js'
import type { Env, StoredBindings } from './env.js'
import { loopTooLong } from './errors.js'
import type { Ended, Level, NodeType } from './plan.js'
import type { Scope, Template } from './template.js'
import type { NodeError } from './types.js'
import type { Scene, Visit } from './visit.js'
import { NodeFailed, type Walked, walk } from './walk.js'

const ROUNDS_MAX = 10_000
const NO_LEVEL: Level = { nodes: [], starts: [] }

export const tryCatch: NodeType = {
  name: 'try-catch',
  description: 'Catches the failure of what it contains.',
  isContainer: true,
  ways: ['catch', 'try'],
  read: (config) => {
    config.only('categories')
    const { categories } = config.given
    if (categories === undefined) return null
    if (Array.isArray(categories) && categories.every((one) => typeof one === 'string')) {
      return categories
    }
    config.wrong('categories', 'must be a list of categories of errors')
    return null
  },
  run: async (visit: Visit) => {
    const { node, scene, turn } = visit
    const first = await inScope(visit, visit.names({}))
    if ('walked' in first) return ended(first.walked, 'try')
    const error = errorOf(first)
    if (!isCaught(node.config, error.category)) throw first.failed ?? first.failure
    const own = visit.names({ error })
    const caught = await walk(scene, turn, node.handler ?? NO_LEVEL, first.env, own)
    const output = caught.returned ? {} : { output: { error } }
    return { ...ended(caught, 'catch'), ...output }
  },
}

export const retry: NodeType = {
  name: 'retry',
  description: 'Runs what it contains again when that fails.',
  isContainer: true,
  read: (config) => {
    const where = `node of type retry`
    try {
      return readRetry({ retry: config.given }, where) ?? NO_RETRY
    } catch (error) {
      config.wrong('', (error as Error).message)
      return NO_RETRY
    }
  },
  run: async (visit: Visit) => {
    const { node, turn } = visit
    const policy = node.config as RetryPolicy
    for (let attempt = 1; ; attempt += 1) {
      const one = await inScope(visit, visit.names({ attempt }))
      if ('walked' in one) return ended(one.walked)
      const { failure, failed } = one
      const { name: errorName } = errorRecord(failure.error)
      const decision = decideRetry(policy, {
        attempt,
        errorName,
        fatal: failure.fatal || isFatalRecord(failure.error),
        retryAfterMs: failure.retryAfterMs,
        now: turn.now(),
        random: 0.5,
      })
      if (decision.kind === 'giveUp') throw failed ?? failure
      await visit.scene.watch.executing(
        turn.path,
        turn.sleep(`${node.id}:retry`, { at: decision.at }),
      )
    }
  },
}

interface LoopConfig {
  readonly items: Template | null
  readonly while: Template | null
  readonly as: string
  readonly parallel: number
  readonly most: number
}

export const loop: NodeType = {
  name: 'loop',
  description:
    'Runs what it contains for each item, one after the other or several at once, or while a condition is true.',
  isContainer: true,
  read: (config): LoopConfig => {
    config.only('items', 'while', 'as', 'parallel', 'most')
    if (config.has('items') === config.has('while')) {
      config.wrong('', 'needs "items", a list or an expression, or "while", an expression')
    }
    const { as = 'item' } = config.given
    if (typeof as !== 'string' || !/^[A-Za-z_]\w{0,63}$/.test(as)) {
      config.wrong('as', 'must be a name of letters, digits and _')
    }
    if (config.has('while') && config.has('parallel')) {
      config.wrong('parallel', 'is for "items": a condition is asked after each round')
    }
    return {
      items: config.has('items') ? config.template('items') : null,
      while: config.has('while') ? config.expression('while') : null,
      as: String(as),
      parallel: config.count('parallel', 1_000) ?? 1,
      most: config.count('most', ROUNDS_MAX) ?? ROUNDS_MAX,
    }
  },
  run: async (visit: Visit) => {
    const config = visit.node.config as LoopConfig
    const { items: template } = config
    if (template === null) return await rounds(visit, config, null)
    const items = await visit.prepared(() => itemsOf(visit, template, config.most))
    return config.parallel > 1
      ? await sideBySide(visit, config, items)
      : await rounds(visit, config, items)
  },
}

function itemsOf(visit: Visit, template: Template, most: number): readonly unknown[] {
  const items = visit.fill(template)
  if (!Array.isArray(items)) {
    throw new PerdureError(
      'INPUT_INVALID',
      `The items of loop "${visit.node.id}" are ${shown(items)}, and not a list.`,
      { hint: 'give an expression that gives a list', details: { issues: [] } },
    )
  }
  if (items.length > most) throw loopTooLong(visit, most)
  return items
}

/** What one round leaves for the next. */
interface Round {
  readonly index: number
  readonly bindings: StoredBindings
  readonly results: readonly unknown[]
  readonly returned?: { readonly value: unknown }
}

/** Rounds that have ended are behind the run: only the current one is replayed. */
async function rounds(
  visit: Visit,
  config: LoopConfig,
  items: readonly unknown[] | null,
): Promise<Ended> {
  const { node, turn, env, scene } = visit
  const stored = (round: Round): Stored =>
    encode(round, `the rounds of loop "${node.id}"`, scene.around.valueBytesMax)
  const first = stored({ index: 0, bindings: [], results: [] })
  const last = await turn.loop(node.id, first, async (inner, state) => {
    const before = decode(state) as Round
    const now = env.again(before.bindings)
    const { index, results } = before
    const own = { [config.as]: items?.[index], index, results }
    const isOver = items ? index >= items.length : !(await goesOn(visit, config, now, own))
    if (isOver) return { done: true, value: state }
    if (index >= config.most) throw loopTooLong(visit, config.most)
    const walked = await walk(scene, inner, node.inside ?? NO_LEVEL, now, visit.names(own))
    const { returned } = walked
    const value = stored({
      index: index + 1,
      bindings: walked.env.since(env),
      results: [...results, walked.last ?? null],
      ...(returned && { returned }),
    })
    return { done: returned !== undefined, value }
  })
  const { bindings, results, returned } = decode(last) as Round
  return { env: env.again(bindings), output: results, ...(returned && { returned }) }
}

function goesOn(visit: Visit, config: LoopConfig, env: Env, own: object): Promise<boolean> {
  const { while: condition } = config
  if (condition === null) return Promise.resolve(false)
  return visit.prepared(() => condition.holds(visit.scope({ ...env.values(), ...own })))
}

/** So many at once; each sees what was set before the loop, and of what they set the later item's counts. */
async function sideBySide(
  visit: Visit,
  config: LoopConfig,
  items: readonly unknown[],
): Promise<Ended> {
  const { node, turn, env } = visit
  const walks: Walked[] = []
  let next = 0
  let returned: Walked['returned']
  const lane = async (inner: Turn): Promise<void> => {
    while (next < items.length && !returned) {
      const index = next
      next += 1
      const own = visit.names({ [config.as]: items[index], index })
      const one = await inScope(visit, own, inner, `[${index}]`)
      if (!('walked' in one)) throw one.failed ?? one.failure
      walks[index] = one.walked
      returned ??= one.walked.returned
    }
  }
  const lanes = Math.min(config.parallel, items.length)
  await turn.scope(node.id, { until: null }, async (inner) => {
    await Promise.all(Array.from({ length: lanes }, () => lane(inner)))
    return ''
  })
  const bindings = walks.flatMap((walked) => walked.env.since(env))
  const output = walks.map(({ last }) => last ?? null)
  return { env: env.again(bindings), output, ...(returned && { returned }) }
}

export type Tried =
  | { readonly walked: Walked }
  /** `env`: what was known to the node that failed. */
  | { readonly failure: Failure; readonly failed: NodeFailed | null; readonly env: Env }

interface Trying {
  readonly scene: Scene
  readonly turn: Turn
  readonly level: Level
  readonly env: Env
  readonly own: Scope
  readonly name: string
}

/** What is open in it when it fails is withdrawn. */
export async function tried({ scene, turn, level, env, own, name }: Trying): Promise<Tried> {
  let walked: Walked | null = null
  let failed: NodeFailed | null = null
  let path = ''
  try {
    await turn.scope(name, { until: null }, async (inner) => {
      path = inner.path
      try {
        walked = await walk(scene, inner, level, env, own)
        return ''
      } catch (error) {
        if (!(error instanceof NodeFailed)) throw error
        failed = error
        throw failureOf(error.cause, 'a node')
      }
    })
  } catch (error) {
    return { failure: failureOf(error, 'a container'), failed, env: envOf(failed) ?? env }
  } finally {
    scene.watch.left(path)
  }
  if (walked) return { walked }
  throw new Error('a scope ended without its walk')
}

/** Set in a callback: what the compiler knows of it there it does not know here. */
const envOf = (failed: NodeFailed | null): Env | undefined => failed?.env

/** What a node contains, with these names of its own. */
function inScope(
  visit: Visit,
  own: Scope,
  turn = visit.turn,
  name = visit.node.id,
): Promise<Tried> {
  const { scene, env, node } = visit
  return tried({ scene, turn, level: node.inside ?? NO_LEVEL, env, own, name })
}

function ended({ env, last, returned }: Walked, branch?: string): Ended {
  return {
    env,
    ...(last !== undefined && { output: last }),
    ...(branch !== undefined && { branch }),
    ...(returned && { returned }),
  }
}

/** What a catch is told. */
export function errorOf({
  failure,
  failed,
}: {
  readonly failure: Failure
  readonly failed: NodeFailed | null
}): NodeError {
  const { name, message, code } = errorRecord(failure.error)
  return {
    message,
    name,
    code: code ?? null,
    nodeId: failed?.node.id ?? '',
    nodeType: failed?.node.type.name ?? '',
    category: categoryOf(code),
  }
}
