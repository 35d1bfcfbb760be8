// The interpreter: every node of a level runs when all that comes before it has ended or was skipped, once; branches run side
// by side.
//
// A way that is not taken is skipped: a node to which no taken way leads is skipped with all that comes after it, and does not
// keep others waiting.

import type { Turn } from '../../model/program.js'
import { failureOf } from '../recorded.js'
import { Env } from './env.js'
import type { Ended, Level, PlanNode } from './plan.js'
import type { Scope } from './template.js'
import { type Scene, Visit } from './visit.js'

/** A node that failed, on its way to whoever catches it. */
export class NodeFailed extends Error {
  readonly node: PlanNode
  /** What was known when it ran. */
  readonly env: Env
  override readonly cause: unknown

  constructor(node: PlanNode, env: Env, cause: unknown) {
    super(`node "${node.id}" failed`)
    this.node = node
    this.env = env
    this.cause = cause
  }
}

export interface Walked {
  readonly env: Env
  /** What the last of its nodes gave, in the order of the graph. */
  readonly last: unknown
  readonly returned?: { readonly value: unknown }
}

export function walk(
  scene: Scene,
  turn: Turn,
  level: Level,
  env: Env,
  own: Scope,
): Promise<Walked> {
  return new Promise((resolve, reject) => {
    new Walk({ scene, turn, own, resolve, reject }).begin(level, env)
  })
}

interface Walking {
  readonly scene: Scene
  readonly turn: Turn
  readonly own: Scope
  readonly resolve: (walked: Walked) => void
  readonly reject: (error: unknown) => void
}

class Walk {
  private readonly walking: Walking
  /** How many edges to it are neither taken nor skipped, and what came along those that are taken. */
  private readonly waiting = new Map<PlanNode, { left: number; readonly came: Env[] }>()
  /** Where no way goes on; all other nodes are before one of these. */
  private readonly ends: { readonly order: number; readonly env: Env }[] = []
  private last: { readonly order: number; readonly output: unknown } | null = null
  private open = 0
  private isOver = false

  constructor(walking: Walking) {
    this.walking = walking
  }

  begin(level: Level, env: Env): void {
    this.open += 1
    for (const node of level.starts) this.arrive(node, env)
    this.open -= 1
    if (level.starts.length === 0) this.ends.push({ order: -1, env })
    this.finishIfDone()
  }

  private arrive(node: PlanNode, env: Env | null): void {
    if (node.incoming <= 1) return this.reached(node, env)
    const waiting = this.waiting.get(node) ?? { left: node.incoming, came: [] }
    this.waiting.set(node, waiting)
    waiting.left -= 1
    if (env) waiting.came.push(env)
    if (waiting.left > 0) return
    this.reached(node, waiting.came.length > 0 ? Env.joined(waiting.came) : null)
  }

  /** No edge to it is left; null: none was taken. */
  private reached(node: PlanNode, env: Env | null): void {
    if (env) this.visit(node, env)
    else for (const { to } of node.edges) this.arrive(to, null)
  }

  private visit(node: PlanNode, env: Env): void {
    const { scene, turn, own } = this.walking
    this.open += 1
    const visit = new Visit(scene, node, turn, env, own)
    visitNode(visit).then(
      (ended) => this.left(node, env, ended),
      (error: unknown) => this.failed(node, env, error),
    )
  }

  private left(node: PlanNode, before: Env, ended: Ended): void {
    if (this.isOver) return
    const { output, branch, sets } = ended
    const { order } = node
    let env = ended.env ?? before
    if (sets) env = env.with(sets, order)
    if (output !== undefined) env = env.withOne(node.id, output, order)
    if (!this.last || order > this.last.order) this.last = { order, output }
    if (ended.returned) return this.over({ env, last: output, returned: ended.returned })
    const taken = waysOf(node, branch)
    if (!node.edges.some(({ when }) => taken(when))) this.ends.push({ order, env })
    for (const edge of node.edges) this.arrive(edge.to, taken(edge.when) ? env : null)
    this.open -= 1
    this.finishIfDone()
  }

  private finishIfDone(): void {
    if (this.open > 0 || this.isOver) return
    const inOrder = this.ends.toSorted((a, b) => a.order - b.order)
    const env = Env.joined(inOrder.map((end) => end.env))
    this.over({ env, last: this.last?.output })
  }

  private over(walked: Walked): void {
    this.isOver = true
    this.walking.resolve(walked)
  }

  private failed(node: PlanNode, env: Env, error: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.walking.reject(error instanceof NodeFailed ? error : new NodeFailed(node, env, error))
  }
}

function visitNode(visit: Visit): Promise<Ended> {
  try {
    return visit.node.type.run(visit)
  } catch (error) {
    return Promise.reject(error)
  }
}

const isPlain = (when: string | null): boolean => when === null

/** An edge that names no way is taken on every way that no other edge of the node names. */
function waysOf(node: PlanNode, branch: string | undefined): (when: string | null) => boolean {
  if (branch === undefined) return isPlain
  const isNamed = node.edges.some(({ when }) => when === branch)
  return (when) => (when === null ? !isNamed || node.type.isContainer === true : when === branch)
}

/** What the run fails with, or a catch is told. */
export function causeOf(failed: unknown): unknown {
  return failed instanceof NodeFailed ? failureOf(failed.cause, 'a node') : failed
}
