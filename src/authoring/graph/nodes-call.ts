// Nodes that do something: tasks and workflows as runs of their own, events to machines and to the workspace, and the types that
// users add. Calls over HTTP: nodes-http.ts.

import { decode, encode } from '../../model/codec.js'
import { optionInvalid, PerdureError, shown } from '../../model/errors.js'
import { DEFINITION_NAME, isStepName, RUN_ID, type RunId } from '../../model/ids.js'
import type { Attempt, Turn } from '../../model/program.js'
import { NO_RETRY } from '../../model/retry.js'
import { orderOf } from '../definition.js'
import { emitted, eventNameOf } from '../function/events.js'
import { parse } from '../schema.js'
import { stepOf } from '../step.js'
import { namedTarget } from '../target.js'
import type { Step } from '../types.js'
import type { Env } from './env.js'
import { nodeTypeUnknown } from './errors.js'
import type { Config, NodeType } from './plan.js'
import type { Template } from './template.js'
import type { NodeContext } from './types.js'
import type { Visit } from './visit.js'

export interface ChildCall {
  readonly target: string
  readonly input: Template
}

function readCall(config: Config, field: string): ChildCall {
  config.only(field, 'input')
  const target = config.text(field)
  if (target !== '' && !DEFINITION_NAME.test(target)) {
    config.wrong(field, `is ${shown(target)}, which is no name of a definition`)
  }
  return { target, input: config.template('input') }
}

/** A run of its own; `turn`: where it is asked for. */
export async function callChild(
  visit: Visit,
  call: ChildCall,
  name: string = visit.node.id,
  turn: Turn = visit.turn,
): Promise<unknown> {
  const { node, scene } = visit
  const { around, watch } = scene
  const target = namedTarget(around, call.target, `node "${node.id}"`)
  const known = typeof target === 'string' ? null : target
  const isTask = known ? known.kind === 'task' : node.type.name !== workflow.name
  const { retry, timeoutMs } = node
  const input = await visit.prepared(() =>
    encode(visit.fill(call.input), `the input of node "${node.id}"`, around.valueBytesMax),
  )
  const ended = turn.child(name, {
    definition: known?.name ?? call.target,
    version: known?.version ?? null,
    input,
    isTask,
    order: isTask ? orderOf(retry, timeoutMs) : null,
    retry: isTask ? NO_RETRY : (retry ?? NO_RETRY),
    timeoutMs: isTask ? null : (timeoutMs ?? known?.timeoutMs ?? null),
  })
  // A workflow may wait for days: that is no time of this run.
  return decode(await (isTask ? watch.executing(turn.path, ended) : ended))
}

export const task: NodeType = {
  name: 'task',
  description: 'Runs a task.',
  read: (config) => readCall(config, 'task'),
  run: async (visit: Visit) => ({ output: await callChild(visit, visit.node.config as ChildCall) }),
}

export const workflow: NodeType = {
  name: 'workflow',
  description: 'Runs a function, a machine or another graph, and waits for its end.',
  read: (config) => readCall(config, 'workflow'),
  run: async (visit: Visit) => ({ output: await callChild(visit, visit.node.config as ChildCall) }),
}

interface EmitConfig {
  readonly event: string
  readonly payload: Template
}

export const emit: NodeType = {
  name: 'emit',
  description: 'Emits an event of the workspace.',
  read: (config): EmitConfig => {
    config.only('event', 'payload')
    const { event } = config.given
    if (!isStepName(event)) config.wrong('event', 'must be the name of an event')
    return { event: String(event), payload: config.template('payload') }
  },
  run: async (visit: Visit) => {
    const { event, payload } = visit.node.config as EmitConfig
    const { events, valueBytesMax } = visit.scene.around
    await visit.step({
      isEarly: true,
      timeoutMs: null,
      code: async () => {
        const name = eventNameOf(event, events)
        const given = visit.fill(payload)
        const schema = events?.[name]
        const what = `The payload of event "${name}"`
        const parsed = schema ? await parse(schema, given, 'PAYLOAD_INVALID', what) : given
        const input = { event, payload: parsed }
        return { input, events: [emitted(name, parsed, valueBytesMax)] }
      },
    })
    return {}
  },
}

interface MachineEventConfig {
  readonly machine: string
  readonly id: Template
  readonly event: Template
}

export const machineEvent: NodeType = {
  name: 'machine-event',
  description: 'Sends an event to a machine; the first one makes its run.',
  read: (config): MachineEventConfig => {
    config.only('machine', 'id', 'event')
    for (const field of ['id', 'event']) if (!config.has(field)) config.wrong(field, 'is missing')
    return {
      machine: config.text('machine'),
      id: config.template('id'),
      event: config.template('event'),
    }
  },
  run: async (visit: Visit) => {
    const config = visit.node.config as MachineEventConfig
    await visit.step({ code: (attempt) => send(visit, config, attempt) })
    return {}
  },
}

async function send(visit: Visit, config: MachineEventConfig, attempt: Attempt) {
  const { node, turn, scene } = visit
  const where = `node "${node.id}"`
  const id = visit.fill(config.id)
  if (typeof id !== 'string' || !RUN_ID.test(id)) {
    throw optionInvalid('id', where, id, '1 to 128 of letters, digits and _ . : @ + = -')
  }
  const event = visit.fill(config.event) as Readonly<Record<string, unknown>> | null
  const { type, ...fields } = event ?? {}
  if (!isStepName(type)) throw optionInvalid('event', where, event, 'an object with a type')
  const { workspace } = turn.run
  const to = { workspace, id: id as RunId }
  const known = await attempt.outside.look(to)
  if (known === null) {
    const version = scene.around.find(config.machine)?.version ?? null
    const made = { definition: config.machine, version, input: encode(undefined, 'an input') }
    await attempt.outside.start({ ...to, ...made, timeoutMs: null, tags: {}, parent: null })
  } else if (known !== config.machine) {
    throw new PerdureError('ID_TAKEN', `Run ${id} is of "${known}", not of "${config.machine}".`, {
      hint: 'send to another id',
      runId: id,
      details: { workflow: known },
    })
  }
  const payload = encode(fields, `the event of ${where}`, scene.around.valueBytesMax)
  await attempt.outside.signal(to, type, payload, attempt.idempotencyKey)
  return { input: { machine: config.machine, id, event } }
}

/** A type that users have registered. */
export const custom = (name: string): NodeType => ({
  name,
  description: 'A type of your own.',
  ways: null,
  read: (config) => config.template(''),
  run: async (visit: Visit) => {
    const { around } = visit.scene
    const type = around.nodeTypes.get(name)
    if (!type) throw nodeTypeUnknown(visit, name)
    const { output, branch } = await visit.step({
      timeoutMs: visit.node.timeoutMs ?? type.timeoutMs,
      code: async (attempt) => {
        const given = visit.fill(visit.node.config as Template)
        const what = `The config of node "${visit.node.id}"`
        const config = type.config ? await parse(type.config, given, 'INPUT_INVALID', what) : given
        const step = stepOf(attempt, visit.node.id, visit, around.log)
        const output = await type.run(config, new NodeContextOf(visit, step))
        return { input: config, output }
      },
    })
    return branch === undefined ? { output } : { output, branch }
  },
})

/** Most nodes do not look at the variables: they are gathered when they are asked for. */
class NodeContextOf implements NodeContext {
  readonly workspaceId: string
  readonly executionId: string
  readonly workflowId: string
  readonly triggeredBy: string
  readonly nodeId: string
  readonly step: Step
  readonly #env: Env
  #variables: Readonly<Record<string, unknown>> | null = null

  constructor({ scene, node, env }: Visit, step: Step) {
    const { workspaceId, executionId, workflowId, triggeredBy } = scene.context
    this.workspaceId = workspaceId
    this.executionId = executionId
    this.workflowId = workflowId
    this.triggeredBy = triggeredBy
    this.nodeId = node.id
    this.step = step
    this.#env = env
  }

  get variables(): Readonly<Record<string, unknown>> {
    this.#variables ??= this.#env.values()
    return this.#variables
  }
}
