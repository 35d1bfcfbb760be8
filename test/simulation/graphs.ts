// The random programs as graphs: each operation is a node, or a container of nodes. The same program is a function, too
// (programs.ts), and both must have the same effects.

import type { Surroundings } from '../../src/authoring/definition.js'
import type { CustomType } from '../../src/authoring/graph/custom-type.js'
import type { GraphMade } from '../../src/authoring/graph/graph-made.js'
import { nodeType } from '../../src/authoring/graph/node-type.js'
import { graphProgram } from '../../src/authoring/graph/program.js'
import { readGraph } from '../../src/authoring/graph/read.js'
import type { GraphJson } from '../../src/authoring/graph/types.js'
import type { Program } from '../../src/model/program.js'
import { AROUND } from './machines.js'
import { type Op, POISON, plain, policyOf, type Stage, type StepSpec } from './programs.js'

const STEP = 'sim.step'
const THROW = 'sim.throw'

/** Without what only functions have. What is left means the same as a function and as a graph. */
export function graphOps(ops: readonly Op[]): readonly Op[] {
  return ops.flatMap((op): readonly Op[] => {
    switch (op.op) {
      case 'step': {
        const { undo: _, ...step } = op.step
        return [{ op: 'step', step: { ...step, transaction: false } }]
      }
      case 'child':
        return [childOf(op)]
      case 'wait':
        return [{ op: 'sleep', name: 'w', ms: op.ms ?? 20 }]
      case 'all':
        return [{ op: 'all', branches: op.branches.map(graphOps) }]
      case 'try':
        return [{ op: 'try', ops: graphOps(op.ops) }]
      case 'loop':
        return [{ ...op, ops: graphOps(op.ops) }]
      case 'race':
      case 'first':
        return [{ op: 'try', ops: graphOps(op.branches[0] ?? []) }]
      case 'scope':
        return graphOps(op.ops)
      case 'sleep':
      case 'throw':
        return [op]
      default:
        return []
    }
  })
}

function childOf({ undo: _, ...op }: Op & { op: 'child' }): Op {
  if (op.definition === 'task') {
    const { undo: __, ...step } = JSON.parse(op.input) as StepSpec
    return { ...op, retries: 0, input: JSON.stringify({ ...step, transaction: false }) }
  }
  const input = JSON.stringify(graphOps(JSON.parse(op.input) as readonly Op[]))
  return { ...op, definition: op.name < 'd' ? 'graph' : 'flow', retries: 0, input }
}

export function graphOf(ops: readonly Op[]): GraphJson {
  const builder = new Builder()
  builder.series(ops, ['trigger'], null)
  const { nodes, edges } = builder
  return { id: 'graph', nodes, edges } as unknown as GraphJson
}

interface Node {
  readonly id: string
  readonly type: string
  readonly parent?: string
  readonly [option: string]: unknown
}

class Builder {
  readonly nodes: Node[] = []
  readonly edges: { from: string; to: string }[] = []

  /** Gives back behind which nodes the run is then. */
  series(ops: readonly Op[], from: readonly string[], parent: string | null): readonly string[] {
    let at = from
    // A level has at least one node.
    const all: readonly Op[] = ops.length > 0 ? ops : [{ op: 'sleep', name: 'w', ms: 0 }]
    for (const op of all) at = this.one(op, at, parent)
    return at
  }

  private one(op: Op, from: readonly string[], parent: string | null): readonly string[] {
    const add = (name: string, type: string, more: object = {}): string => {
      const id = `n${this.nodes.length + 1}-${name}`
      this.nodes.push({ id, type, ...(parent !== null && { parent }), ...more })
      for (const one of from) this.edges.push({ from: one, to: id })
      return id
    }
    switch (op.op) {
      case 'step': {
        const { step } = op
        const { attempts, delayMs: delay, backoff } = policyOf(step)
        const retry = { attempts, delay, backoff, maxDelay: 500 }
        const timeout = step.timeoutMs === null ? {} : { timeout: step.timeoutMs }
        // Directly in a try-catch the retry of a node does not count.
        if (attempts > 0 && this.isTry(parent)) {
          const around = add('again', 'retry', { config: { attempts: 0 } })
          this.series([op], [], around)
          return [around]
        }
        return [add(step.name, STEP, { config: { ...step }, retry, ...timeout })]
      }
      case 'child': {
        const target = op.definition === 'task' ? 'task' : 'workflow'
        const input: unknown = op.poison ? `${op.input} ${POISON}` : JSON.parse(op.input)
        return [add(op.name, target, { config: { [target]: op.definition, input } })]
      }
      case 'all': {
        const fork = add('fork', 'fork')
        return op.branches.flatMap((branch) => this.series(branch, [fork], parent))
      }
      case 'try': {
        const id = add('try', 'try-catch')
        this.series(op.ops, [], id)
        return [id]
      }
      case 'loop': {
        const items = Array.from({ length: op.rounds }, (_, i) => i)
        const id = add('loop', 'loop', { config: { items } })
        this.series(op.ops, [], id)
        return [id]
      }
      case 'throw':
        return [add('throw', THROW)]
      default:
        return [add('sleep', 'delay', { config: { for: 'ms' in op ? (op.ms ?? 0) : 0 } })]
    }
  }

  private isTry(parent: string | null): boolean {
    return this.nodes.some(({ id, type }) => id === parent && type === 'try-catch')
  }
}

export function graphsProgram(stage: Stage): Program {
  const types = [stepType(stage), throwType].map((type) => [type.name, type] as const)
  const around: Surroundings = { ...AROUND, nodeTypes: new Map(types) }
  return {
    name: 'graph',
    version: '1',
    style: 'graph',
    // What a run of it is made of is its input.
    body: async (turn) => {
      const json = graphOf(JSON.parse(turn.run.input) as readonly Op[])
      return graphProgram(madeFrom(json), around).body(turn)
    },
  }
}

const madeFrom = (json: GraphJson): GraphMade => ({
  ...{
    name: 'graph',
    version: '1',
    description: null,
    input: null,
    signals: {},
    state: null,
    stream: null,
    triggers: [],
    limits: null,
  },
  ...{ timeoutMs: null, kind: 'graph', json, plan: { ...readGraph(json), output: null } },
})

const throwType = nodeType(THROW, {}, () => {
  throw plain('thrown by the graph')
})

function stepType(stage: Stage): CustomType {
  return nodeType(STEP, {}, async (config: object, { step }) => {
    const spec = config as StepSpec
    const [uid = '', occurrence = '', ...rest] = step.key.split('/')
    const names = { uid, name: rest.join('/'), occurrence: Number(occurrence) }
    const of = { attempt: step.attempt, transaction: false, retry: policyOf(spec), told: [] }
    const isOver = stage.dispatched({ ...names, idempotencyKey: step.key, ...of }, step.signal)
    try {
      const id = `${step.key} ${stage.fresh()}`
      if (spec.bomb) await stage.explode()
      await stage.work(spec.ms, spec.obedient ? step.signal : null)
      if (step.attempt <= spec.fails) throw plain(`fails ${id}`)
      return spec.poison ? `${id} ${POISON}` : id
    } finally {
      isOver()
    }
  })
}
