// describe: what a definition is made of.

import type { Made } from '../authoring/definition.js'
import type { Place, Transition } from '../authoring/machine/description.js'
import { beforeRead, type Core, found } from './core.js'
import { targetUnknown } from './errors.js'
import { jsonSchemaOf } from './facts.js'
import type { DescribedTransition, Description } from './types.js'

/** `confined`: a workspace that sees no graph of another; null: the engine, which sees all. */
export function describe(core: Core, confined: string | null, target: unknown): Description {
  beforeRead(core)
  const { name: asked, made: own } = found(core, 'describe', target)
  const owner = core.stored.head(asked)?.workspace ?? null
  const isSeen = owner === null || confined === null || owner === confined
  const made = own ?? (isSeen ? core.stored.current(asked) : null)
  if (!made) throw targetUnknown('describe', target)
  const { name, version, kind, description } = made
  const input = jsonSchemaOf(made.input)
  const signals = Object.entries(made.signals).map(([signal, schema]) => {
    return { name: signal, schema: jsonSchemaOf(schema) }
  })
  const graph = made.kind === 'graph' ? made.json : null
  return { name, version, kind, description, input, signals, ...chartOf(made), graph }
}

function chartOf(made: Made): Pick<Description, 'places' | 'transitions'> {
  if (made.kind !== 'machine') return { places: [], transitions: [] }
  const { initial, places } = made.machine
  const all = [...places.values()]
  const inOrder = [
    ...all.filter((one) => one.name === initial),
    ...all.filter((one) => one.name !== initial),
  ]
  return {
    places: inOrder.map(({ name, isFinal }) => ({ name, isFinal })),
    transitions: inOrder.flatMap(transitionsOf),
  }
}

function transitionsOf({ name: from, automatic, waiting, late }: Place): DescribedTransition[] {
  return [
    ...automatic.map((one) => described(one, from, 'at once', null)),
    ...[...waiting.values()].map((one) => described(one, from, 'when sent', null)),
    ...late.map(({ transition, afterMs }) => described(transition, from, 'late', afterMs)),
  ]
}

function described(
  transition: Transition,
  from: string,
  runs: DescribedTransition['runs'],
  afterMs: number | null,
): DescribedTransition {
  const { name, targets: to, guard, schema, retry, errorPlace } = transition
  const isGuarded = guard !== null
  const { attempts: retries } = retry
  return {
    name,
    from,
    to,
    runs,
    afterMs,
    isGuarded,
    schema: jsonSchemaOf(schema),
    retries,
    errorPlace,
  }
}
