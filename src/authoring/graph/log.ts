// What has become of each node of a run: read from its journal and its graph. Pure.

import { decode } from '../../model/codec.js'
import { type ErrorSummary, errorRecord } from '../../model/error-record.js'
import { type Entry, type Instant, isFinal, type Status } from '../../model/run.js'
import { categoryOf, isCaught } from './categories.js'
import type { Level, Plan, PlanNode } from './plan.js'
import type { NodeRecord } from './visit.js'

export type NodeStatus =
  | 'pending'
  | 'running'
  | 'waiting'
  | 'completed'
  | 'failed'
  | 'skipped'
  | 'cancelled'

export interface NodeLog {
  readonly node: string
  readonly type: string
  /** In which containers and rounds, as 'tags@2/'. */
  readonly path: string
  readonly status: NodeStatus
  /** The config with what its expressions gave; of tasks and workflows it is the input of `child`. */
  readonly input: unknown
  readonly output: unknown
  /** Of a try-catch that is completed: what it has caught. */
  readonly error: ErrorSummary | null
  readonly attempt: number
  readonly startedAt: Instant | null
  readonly endedAt: Instant | null
  /** The run that did it. */
  readonly child: string | null
  /** Those of the run when it had ended. */
  readonly variables: Readonly<Record<string, unknown>>
}

type Written = { -readonly [K in keyof NodeLog]: NodeLog[K] } & { branch?: string }

/** In the order in which they began; then those that did not. */
export function nodeLog(plan: Plan, entries: readonly Entry[], status: Status): NodeLog[] {
  const reading = readAll(plan, entries)
  reading.leave(plan, isFinal(status))
  return reading.logs.map(({ branch: _, ...log }) => log)
}

/** What is set when all of these have happened. */
export function variablesOf(plan: Plan, entries: readonly Entry[]): NodeLog['variables'] {
  return readAll(plan, entries).variables
}

function readAll(plan: Plan, entries: readonly Entry[]): Reading {
  const nodes = new Map<string, PlanNode>()
  const catchers = new Map<string, PlanNode>()
  const add = (level: Level | null): void => {
    for (const node of level?.nodes ?? []) {
      nodes.set(node.id, node)
      for (const { id } of node.handler?.nodes ?? []) catchers.set(id, node)
      add(node.inside)
      add(node.handler)
    }
  }
  add(plan.top)
  add(plan.onError?.handler ?? null)
  const reading = new Reading(nodes, catchers)
  for (const entry of entries) reading.read(entry)
  return reading
}

class Reading {
  readonly logs: Written[] = []
  private readonly nodes: ReadonlyMap<string, PlanNode>
  /** The try-catch whose catch a node stands in. */
  private readonly catchers: ReadonlyMap<string, PlanNode>
  private readonly open = new Map<string, Written>()
  private readonly last = new Map<string, Written>()
  variables: Readonly<Record<string, unknown>> = {}

  constructor(nodes: ReadonlyMap<string, PlanNode>, catchers: ReadonlyMap<string, PlanNode>) {
    this.nodes = nodes
    this.catchers = catchers
  }

  read(entry: Entry): void {
    const { kind, name, at, meta, payload } = entry
    const log = this.logOf(entry)
    if (!log) return
    switch (kind) {
      case 'step.completed': {
        const { input, output, branch, sets } = decode(payload ?? '') as NodeRecord
        log.input = input
        if (branch !== undefined) log.branch = branch
        log.attempt = entry.attempt
        return this.ended(log, 'completed', at, output, sets)
      }
      case 'step.failed':
        log.attempt = entry.attempt
        log.error = payload === null ? null : errorRecord(payload)
        return meta?.retryAt === undefined ? this.ended(log, 'failed', at) : undefined
      case 'child.started':
        log.child = meta?.uid ?? null
        return
      case 'child.ended': {
        log.attempt = entry.attempt
        if (meta?.retryAt !== undefined) return
        if (meta?.status === 'completed') {
          return this.ended(log, 'completed', at, payload === null ? undefined : decode(payload))
        }
        log.error = payload === null ? null : errorRecord(payload)
        return this.ended(log, 'failed', at)
      }
      case 'timer.set':
      case 'wait.opened':
        log.status = 'waiting'
        return
      case 'timer.fired':
        return this.ended(log, 'completed', at)
      case 'wait.withdrawn':
        log.branch = 'timeout'
        return this.ended(log, 'completed', at)
      case 'message.taken':
        return this.ended(log, 'completed', at, payload === null ? null : decode(payload))
      case 'scope.ended':
        log.error = meta?.status === 'failed' && payload ? errorRecord(payload) : null
        return this.left(log, at)
      case 'round.ended':
        return meta?.done || name === '' ? this.ended(log, 'completed', at) : undefined
      default:
        return
    }
  }

  private logOf({ kind, name, occurrence, at, meta }: Entry): Written | null {
    if (name === '' || kind === 'run.failed') return null
    const slash = name.lastIndexOf('/')
    const path = name.slice(0, slash + 1)
    const id = name.slice(slash + 1).replace(/@\d+$/, '')
    const node = this.nodes.get(id)
    if (!node) return null
    const key = `${path}${id} ${kind === 'round.ended' ? 1 : occurrence}`
    const known = this.open.get(key)
    if (known) return known
    const startedAt = at - (meta?.askedAgo ?? 0)
    const log: Written = {
      node: id,
      type: node.type.name,
      path,
      status: 'running',
      input: undefined,
      output: undefined,
      error: null,
      attempt: 1,
      startedAt,
      endedAt: null,
      child: null,
      variables: this.variables,
    }
    this.open.set(key, log)
    this.last.set(id, log)
    this.logs.push(log)
    return log
  }

  /** A failure that is caught is none of the container: it goes on by its catch. */
  private left(log: Written, at: Instant): void {
    const { error } = log
    const isTry = log.type === 'try-catch'
    if (isTry) log.branch = error ? 'catch' : 'try'
    const config = this.nodes.get(log.node)?.config
    const isFine = !error || (isTry && isCaught(config, categoryOf(error.code)))
    this.ended(log, isFine ? 'completed' : 'failed', at)
  }

  private ended(
    log: Written,
    status: NodeStatus,
    at: Instant,
    output?: unknown,
    sets: Readonly<Record<string, unknown>> = {},
  ): void {
    log.status = status
    log.endedAt = at
    log.output = output
    const own = output === undefined ? {} : { [log.node]: output }
    this.variables = { ...this.variables, ...sets, ...own }
    log.variables = this.variables
    const catcher = status === 'failed' ? this.catchers.get(log.node) : undefined
    const caught = catcher && this.last.get(catcher.id)
    if (!caught) return
    caught.error = log.error
    this.ended(caught, 'failed', at)
  }

  /** What has not begun: it will, was skipped, or never can any more. */
  leave({ top, onError }: Plan, isOver: boolean): void {
    for (const log of this.logs) if (isOver && log.endedAt === null) log.status = 'cancelled'
    const skipped = this.skippedIn(top)
    const unbegun = (level: Level | null, isSkipped: boolean): void => {
      for (const node of level?.nodes ?? []) {
        const isOut = isSkipped || skipped.has(node)
        if (!this.last.has(node.id) && !isSilent(node)) {
          this.logs.push(never(node, isOut || isOver ? 'skipped' : 'pending', this.variables))
        }
        unbegun(node.inside, isOut)
        unbegun(node.handler, isOut)
      }
    }
    unbegun(top, false)
    unbegun(onError?.handler ?? null, false)
  }

  /** By the ways that were taken; a node of which nothing is known yet skips nobody. */
  private skippedIn({ nodes, starts }: Level): ReadonlySet<PlanNode> {
    const skipped = new Set<PlanNode>()
    const arriving = new Map<PlanNode, number>(starts.map((node) => [node, 1]))
    const dead = new Map<PlanNode, number>()
    for (const node of nodes) {
      if ((dead.get(node) ?? 0) >= node.incoming && !arriving.has(node)) skipped.add(node)
      const branch = this.last.get(node.id)?.branch
      const isNamed = node.edges.some(({ when }) => when === branch)
      for (const { to, when } of node.edges) {
        const isOut = branch !== undefined && when !== branch && (when !== null || isNamed)
        if (skipped.has(node) || isOut) dead.set(to, (dead.get(to) ?? 0) + 1)
      }
    }
    return skipped
  }
}

/** It does nothing that would be written down. */
const isSilent = ({ type }: PlanNode): boolean =>
  ['fork', 'merge', 'end', 'trigger', 'on-error'].includes(type.name)

function never(node: PlanNode, status: NodeStatus, variables: Written['variables']): Written {
  const nothing = { input: undefined, output: undefined, error: null, attempt: 0, child: null }
  const times = { startedAt: null, endedAt: null }
  return { node: node.id, type: node.type.name, path: '', status, ...nothing, ...times, variables }
}
