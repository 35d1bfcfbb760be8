// The levels of a graph: which nodes stand side by side, in which order they can run, and what is run when others have failed.

import { checkNames, type KnownName, namesAnywhere, namesAt } from './names.js'
import { type Levels, ON_ERROR, type Placed, place, TRIGGER } from './place.js'
import type { Level, Plan, PlanEdge, PlanNode } from './plan.js'
import { Problems } from './problems.js'
import type { ReadEdge, ReadNode } from './read-parts.js'

const NOTHING = { top: { nodes: [], starts: [] }, onError: null }

export function levelsOf(
  problems: Problems,
  nodes: readonly ReadNode[],
  edges: readonly ReadEdge[],
): Pick<Plan, 'top' | 'onError'> {
  const placed = [...place(problems, nodes, edges).values()]
  const shape = new Shape(problems, placed)
  if (problems.list.length === 0) checkNames(problems, placed, shape)
  return problems.list.length > 0 ? NOTHING : shape.plan()
}

/** `node`: null, wherever it may be. The graph may have problems; null: there is no such node. */
export function namesOf(
  nodes: readonly ReadNode[],
  edges: readonly ReadEdge[],
  node: string | null,
): readonly KnownName[] | null {
  const problems = new Problems()
  const placed = [...place(problems, nodes, edges).values()]
  return node === null ? namesAnywhere(placed) : namesAt(placed, new Shape(problems, placed), node)
}

class Shape implements Levels {
  readonly top: readonly Placed[]
  readonly onError: Placed | null
  private readonly problems: Problems
  private readonly bodies = new Map<Placed, readonly Placed[]>()
  private readonly handlers = new Map<Placed, readonly Placed[]>()

  constructor(problems: Problems, placed: readonly Placed[]) {
    this.problems = problems
    const outside = placed.filter(({ parent }) => parent === null)
    const onErrors = outside.filter(({ read }) => read.type.name === ON_ERROR)
    for (const { read } of onErrors.slice(1)) {
      problems.add(`${read.path}.type`, 'is a second on-error: a graph has one')
    }
    this.onError = onErrors[0] ?? null
    const handling = after(onErrors)
    this.top = this.ordered(outside.filter((node) => !handling.has(node)))
    this.begin(this.top)
    if (this.onError) this.handle(this.onError, handling)
    for (const node of placed) if (node.read.type.isContainer) this.contain(node)
  }

  body(node: Placed): readonly Placed[] {
    return this.bodies.get(node) ?? []
  }

  handler(node: Placed): readonly Placed[] {
    return this.handlers.get(node) ?? []
  }

  /** The graph begins at the trigger; all of it must be reached from there. */
  private begin(top: readonly Placed[]): void {
    for (const node of top) if (node.read.type.name === TRIGGER) node.starts = 1
    const starts = top.filter(({ starts: count }) => count > 0)
    if (top.length > 0 && starts.length === 0) {
      return this.problems.add('edges', 'none leads from "trigger": the graph never begins')
    }
    const reached = after(starts)
    for (const { read } of top.filter((node) => !reached.has(node))) {
      this.problems.add(read.path, `"${read.id}" is never reached from the trigger`)
    }
  }

  private handle(onError: Placed, handling: ReadonlySet<Placed>): void {
    for (const { to } of onError.next) {
      to.starts += 1
      to.before.delete(onError)
    }
    const handler = [...handling].filter((node) => node !== onError)
    this.handlers.set(onError, this.ordered(handler))
    for (const node of handler) this.refuseStray(node, handling, 'a node has failed')
  }

  private contain(container: Placed): void {
    const { read, inside, catches } = container
    const handling = after(catches)
    const body = inside.filter((node) => !handling.has(node))
    for (const node of body) if (node.before.size === 0) node.starts = 1
    this.bodies.set(container, this.ordered(body))
    this.handlers.set(container, this.ordered([...handling]))
    for (const node of handling) this.refuseStray(node, handling, `"${read.id}" catches`)
    if (body.length > 0) return
    this.problems.add(read.path, `"${read.id}" contains nothing: give nodes parent: "${read.id}"`)
  }

  private refuseStray({ read, before }: Placed, handling: ReadonlySet<Placed>, when: string): void {
    const stray = [...before].find((node) => !handling.has(node))
    if (!stray) return
    const message = `"${read.id}" is run when ${when}, and also after "${stray.read.id}"`
    this.problems.add(read.path, message)
  }

  /** Of those that can run next the first that was written. */
  private ordered(level: readonly Placed[]): readonly Placed[] {
    const ordered: Placed[] = []
    const left = new Set(level)
    const isReady = ({ before }: Placed) => ![...before].some((node) => left.has(node))
    while (left.size > 0) {
      const next = [...left].find(isReady)
      if (!next) {
        this.problems.add('edges', `have a cycle: ${cycleOf([...left]).join(' → ')}`)
        break
      }
      left.delete(next)
      ordered.push(next)
    }
    return ordered
  }

  plan(): Pick<Plan, 'top' | 'onError'> {
    const numbers = new Map<Placed, number>()
    const number = (level: readonly Placed[]): void => {
      for (const node of level) {
        numbers.set(node, numbers.size)
        number(this.body(node))
        number(this.handler(node))
      }
    }
    number(this.top)
    if (this.onError) number([this.onError])
    const planned = new Map<Placed, PlanNode>()
    const level = (nodes: readonly Placed[]): Level => {
      // From the last to the first: an edge leads to a node that is there.
      for (const node of nodes.toReversed()) planned.set(node, planNode(node))
      const all = nodes.flatMap((node) => planned.get(node) ?? [])
      const starts = nodes.filter((node) => node.starts > 0)
      return { nodes: all, starts: starts.flatMap((node) => planned.get(node) ?? []) }
    }
    const planNode = (node: Placed): PlanNode => {
      const { id, type, config, retry, timeoutMs } = node.read
      const edges: PlanEdge[] = node.next.flatMap(({ to, when }) => {
        const target = planned.get(to)
        return target ? [{ to: target, when }] : []
      })
      const incoming = [...node.before].reduce((sum, one) => sum + edgesTo(one, node), 0)
      const isStart = node.starts > 0 ? 1 : 0
      const body = this.body(node)
      const handler = this.handler(node)
      return {
        ...{ id, type, config, retry, timeoutMs, edges },
        order: numbers.get(node) ?? 0,
        incoming: incoming + isStart,
        inside: body.length > 0 ? level(body) : null,
        handler: handler.length > 0 ? level(handler) : null,
      }
    }
    return { top: level(this.top), onError: this.onError && planNode(this.onError) }
  }
}

const edgesTo = ({ next }: Placed, node: Placed): number =>
  next.filter(({ to }) => to === node).length

/** These, and all that comes after them on their level. */
export function after(from: readonly Placed[]): Set<Placed> {
  const reached = new Set(from)
  for (const node of reached) for (const { to } of node.next) reached.add(to)
  return reached
}

/** Every one of them has another of them before it. */
function cycleOf(left: readonly Placed[]): readonly string[] {
  const among = new Set(left)
  const way: Placed[] = []
  let at = left[0]
  while (at && !way.includes(at)) {
    way.unshift(at)
    at = [...at.before].find((node) => among.has(node))
  }
  const round = at ? way.slice(0, way.indexOf(at) + 1) : way
  return [...(at ? [at] : []), ...round].map(({ read }) => read.id)
}
