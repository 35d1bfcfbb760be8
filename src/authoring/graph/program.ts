// A run of a graph, as the kernel drives it.

import { encode } from '../../model/codec.js'
import type { Program, Turn } from '../../model/program.js'
import type { RunFacts } from '../../model/run.js'
import type { Surroundings } from '../definition.js'
import { checkedInput } from '../input.js'
import { failureOf } from '../recorded.js'
import { Env } from './env.js'
import type { GraphMade } from './graph-made.js'
import { errorOf, tried } from './nodes-container.js'
import type { ExecutionContext, Scene } from './visit.js'
import { causeOf, type Walked, walk } from './walk.js'
import { Watch } from './watch.js'

export function graphProgram(made: GraphMade, around: Surroundings): Program {
  return {
    name: made.name,
    version: made.version,
    style: 'graph',
    limits: made.limits,
    body: async (turn) => {
      const watch = new Watch(turn, made.plan)
      try {
        const input = await checkedInput(made, turn, around)
        const scene: Scene = { made, around, input, watch, context: contextOf(turn.run) }
        const output = outputOf(scene, await executed(scene, turn))
        return encode(output, `the output of graph "${made.name}"`, around.valueBytesMax)
      } catch (error) {
        throw failureOf(causeOf(error), `the error of graph "${made.name}"`)
      } finally {
        watch.over()
      }
    },
  }
}

function contextOf({ workspace, id, definition, parentId }: RunFacts): ExecutionContext {
  const [kind] = /^(cron|event|webhook)(?=:)/.exec(id) ?? []
  const triggeredBy = kind ?? (parentId ? `run:${parentId}` : 'manual')
  return { workspaceId: workspace, executionId: id, workflowId: definition, triggeredBy }
}

/** Without an on-error node nothing stands between a failed node and the end of the run. */
async function executed(scene: Scene, turn: Turn): Promise<Walked> {
  const { top, onError } = scene.made.plan
  if (!onError) return await walk(scene, turn, top, Env.empty, new Map())
  const first = await tried({
    scene,
    turn,
    level: top,
    env: Env.empty,
    own: new Map(),
    name: 'graph',
  })
  if ('walked' in first) return first.walked
  const error = errorOf(first)
  const own = new Map([['error', error]])
  const handler = onError.handler ?? { nodes: [], starts: [] }
  const handled = await walk(scene, turn, handler, first.env, own)
  return { ...handled, env: handled.env.with({ [onError.id]: { error } }, onError.order) }
}

function outputOf({ made, input, context }: Scene, { env, returned }: Walked): unknown {
  if (returned) return returned.value
  const { output } = made.plan
  const variables = env.values()
  if (output === null) return { ...variables }
  const scope = [...env.entries(), ['input', input], ['run', context], ['variables', variables]]
  return output.fill(new Map(scope as [string, unknown][]))
}
