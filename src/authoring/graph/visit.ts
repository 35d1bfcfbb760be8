// What a node is given when it runs, and how it asks the kernel.

import { decode, encode } from '../../model/codec.js'
import type { Attempt, Effect, StepOrder, Turn } from '../../model/program.js'
import { NO_RETRY } from '../../model/retry.js'
import type { RetryPolicy, Stored } from '../../model/run.js'
import type { Surroundings } from '../definition.js'
import { messageOf, thrown } from '../recorded.js'
import { runRef } from '../step.js'
import type { Env } from './env.js'
import type { GraphMade } from './graph-made.js'
import type { PlanNode } from './plan.js'
import type { Scope, Template } from './template.js'
import type { Watch } from './watch.js'

/** The same for all nodes of a run. */
export interface Scene {
  readonly made: GraphMade
  readonly around: Surroundings
  readonly input: unknown
  readonly watch: Watch
  /** Expressions see it as `run`, nodes as their context. */
  readonly context: ExecutionContext
}

export interface ExecutionContext {
  readonly workspaceId: string
  readonly executionId: string
  readonly workflowId: string
  readonly triggeredBy: string
}

/** What a step of a node has recorded. */
export interface NodeRecord {
  /** Its config, with what its expressions gave. */
  readonly input?: unknown
  readonly output?: unknown
  readonly branch?: string
  readonly sets?: Readonly<Record<string, unknown>>
}

interface StepSettings {
  readonly timeoutMs?: number | null
  /** It reaches nothing outside of the run. */
  readonly isEarly?: boolean
  readonly code: (attempt: Attempt) => Promise<NodeRecord & Pick<Effect, 'events'>>
}

const NOTHING: Scope = new Map()

/** One is made for every node of every run. */
class NodeStep implements StepOrder {
  readonly label: string
  readonly retry: RetryPolicy
  readonly timeoutMs: number | null
  readonly isEarly: boolean
  private readonly name: string
  private readonly code: StepSettings['code']
  private readonly valueBytesMax: number

  constructor(node: PlanNode, settings: StepSettings, valueBytesMax: number) {
    const { timeoutMs = node.timeoutMs, isEarly = false } = settings
    this.label = node.type.name
    this.retry = node.retry ?? NO_RETRY
    this.timeoutMs = timeoutMs
    this.isEarly = isEarly
    this.name = node.id
    this.code = settings.code
    this.valueBytesMax = valueBytesMax
  }

  async execute(attempt: Attempt): Promise<Effect> {
    const { name } = this
    try {
      const given = await this.code(attempt)
      if (!('events' in given)) return { value: this.stored(given) }
      const { events, ...record } = given
      const value = this.stored(record)
      return events ? { value, events } : { value }
    } catch (error) {
      throw thrown(error, { name, stopOn: this.retry.stopOn })
    }
  }

  private stored(record: NodeRecord): Stored {
    return encode(record, `what node "${this.name}" gave`, this.valueBytesMax)
  }
}

export class Visit {
  readonly scene: Scene
  readonly node: PlanNode
  readonly turn: Turn
  readonly env: Env
  /** Names of the containers around it: what a loop or a catch calls its own. */
  private readonly own: Scope

  constructor(scene: Scene, node: PlanNode, turn: Turn, env: Env, own: Scope) {
    this.scene = scene
    this.node = node
    this.turn = turn
    this.env = env
    this.own = own
  }

  /** What expressions of the node see; `more` comes first. */
  scope(more: Readonly<Record<string, unknown>> = {}): Map<string, unknown> {
    const { input, context } = this.scene
    const variables = this.env.values()
    return new Map<string, unknown>([
      ['variables', variables],
      ['nodes', variables],
      ['run', context],
      ...this.env.entries(),
      ['input', input],
      ...this.own,
      ...Object.entries(more),
    ])
  }

  fill(template: Template, more: Readonly<Record<string, unknown>> = {}): unknown {
    return template.fill(template.names.size === 0 ? NOTHING : this.scope(more))
  }

  /** Their values for what is inside of the node. */
  names(more: Readonly<Record<string, unknown>>): Scope {
    return new Map([...this.own, ...Object.entries(more)])
  }

  /** Code of the node, recorded under its name. */
  async step(settings: StepSettings): Promise<NodeRecord> {
    const { node, turn, scene } = this
    const order = new NodeStep(node, settings, scene.around.valueBytesMax)
    return decode(await scene.watch.executing(turn.path, turn.step(node.id, order))) as NodeRecord
  }

  /** A step that is no more than a computation. */
  compute(code: () => NodeRecord): Promise<NodeRecord> {
    return this.step({ isEarly: true, timeoutMs: null, code: async () => code() })
  }

  /** What is asked for is computed first; if that fails it is the failure of the node, and recorded. */
  async prepared<T>(compute: () => T): Promise<T> {
    let value: T
    try {
      value = compute()
    } catch (error) {
      await this.compute(() => {
        throw error
      })
      throw new Error(`node "${this.node.id}" failed before: ${messageOf(error)}`)
    }
    return value
  }

  get run() {
    return runRef(this.turn.run, this.scene.made.version)
  }
}
