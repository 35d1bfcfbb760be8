// The triggers of the definitions of this engine, as rows: schedules, subscriptions to events, and webhooks. What the process that opened
// last has in its code is what counts.

import type { Made } from '../authoring/definition.js'
import type {
  NewSchedule,
  Schedule,
  ScheduleStore,
  Subscriptions,
  WebhookStore,
  WebhookTarget,
} from '../kernel/store.js'
import { generatorOf } from '../model/random.js'
import type { Instant } from '../model/run.js'
import { type Core, DEFAULT_WORKSPACE } from './core.js'
import { putSchedule } from './schedules.js'
import { storedInput } from './start.js'
import { webhooksOf } from './webhooks.js'

const ID_MAX = 80

/** Before its kernel begins, as storeTriggers. */
export async function storeWebhooks(
  store: WebhookStore,
  {
    definitions,
    webhooks: targets,
  }: Pick<Core, 'definitions'> & { readonly webhooks: readonly WebhookTarget[] | null },
): Promise<void> {
  const all = [...definitions.values()]
  if (all.length > 0) {
    await store.putWebhooks(
      all.map(({ name }) => name),
      all.flatMap((made) => webhooksOf(made, DEFAULT_WORKSPACE)),
    )
  }
  if (targets !== null) await store.putWebhookTargets(targets)
}

/** Before its kernel begins: what that does must not depend on how long this takes. */
export async function storeTriggers(
  schedules: ScheduleStore,
  { definitions, valueBytesMax }: Pick<Core, 'definitions' | 'valueBytesMax'>,
): Promise<void> {
  const all = [...definitions.values()]
  if (all.length === 0) return
  const { now } = await schedules.dueSchedules(1)
  const core = { schedules, now, valueBytesMax }
  const known = await schedules.schedulesOf(all.map(({ name }) => name))
  const kept = new Set<string>()
  for (const made of all) {
    for (const id of await storeCrons(core, made, known)) kept.add(id)
  }
  for (const { workspace, id } of known) {
    if (!kept.has(id)) await schedules.dropSchedule(workspace, id)
  }
  await schedules.subscribe(all.map((made) => ({ definition: made.name, to: eventsOf(made) })))
}

interface Storing {
  readonly schedules: ScheduleStore
  readonly now: Instant
  readonly valueBytesMax: number
}

/** What its triggers of time are, as schedules of that workspace. */
export async function cronsOf(
  core: Pick<Core, 'valueBytesMax'>,
  made: Made,
  workspace: string,
): Promise<Omit<NewSchedule, 'next'>[]> {
  const crons: Omit<NewSchedule, 'next'>[] = []
  for (const [i, trigger] of made.triggers.entries()) {
    if (trigger.type !== 'cron') continue
    const { spec, missed } = trigger
    const input = await storedInput(core, { name: made.name, made }, trigger.input)
    const plan = { missed, catchUpMs: null, tags: {}, timeoutMs: timeoutOf(made) }
    const parts = { workspace, id: idOf(made.name, i), definition: made.name, of: made.name }
    crons.push({ ...parts, spec, plan, overlap: 'allow', input })
  }
  return crons
}

export function eventsOf(made: Made): Subscriptions['to'] {
  return made.triggers.flatMap((one) => {
    if (one.type !== 'event') return []
    return [{ event: one.event, match: one.match, timeoutMs: timeoutOf(made) }]
  })
}

/** Gives the ids of its schedules. */
async function storeCrons(
  core: Storing,
  made: Made,
  known: readonly Schedule[],
): Promise<string[]> {
  const crons = await cronsOf(core, made, DEFAULT_WORKSPACE)
  for (const cron of crons) {
    const before = known.find((one) => one.id === cron.id) ?? null
    await putSchedule(core, cron, before)
  }
  return crons.map(({ id }) => id)
}

/** A colon: no schedule that people make has one. */
function idOf(definition: string, position: number): string {
  const id = `${definition}:${position}`
  if (id.length <= ID_MAX) return id
  return `${definition.slice(0, 30)}:${generatorOf(definition).uuid()}:${position}`
}

function timeoutOf(made: Made): number | null {
  return made.kind === 'task' ? null : made.timeoutMs
}
