// Nodes at which a run waits: it holds no place in memory and no slot meanwhile.

import { decode, encode } from '../../model/codec.js'
import { optionInvalid, shown } from '../../model/errors.js'
import { matchKeys } from '../../model/events.js'
import { DEFINITION_NAME, isStepName } from '../../model/ids.js'
import type { Due } from '../../model/program.js'
import type { Stored } from '../../model/run.js'
import { type Duration, durationMs } from '../../model/time.js'
import { waitedInVain } from './errors.js'
import { type ChildCall, callChild } from './nodes-call.js'
import type { Config, Ended, NodeType } from './plan.js'
import { constant, readTemplate, type Template } from './template.js'
import type { Visit } from './visit.js'

const POLL_MS = 60_000
const POLL_MIN_MS = 1_000
/** The way out when the time of a wait is over. */
const LATE = 'timeout'

export const delay: NodeType = {
  name: 'delay',
  description: 'Goes on after a time, or at a moment.',
  read: (config) => {
    config.only('for', 'until')
    if (config.has('for') === config.has('until')) {
      config.wrong('', 'needs "for", a duration, or "until", a moment')
    }
    return readDue(config)
  },
  run: async (visit: Visit) => {
    const wait = visit.node.config as DueConfig
    await visit.turn.sleep(visit.node.id, await visit.prepared(() => dueOf(visit, wait)))
    return {}
  },
}

interface DueConfig {
  readonly for: Template
  readonly until: Template | null
}

function readDue(config: Config): DueConfig {
  const { for: given } = config.given
  const isText = typeof given === 'string' || typeof given === 'number'
  const ms = isText ? config.duration('for') : null
  return {
    for: isText ? constant(ms) : config.template('for'),
    until: config.has('until') ? config.template('until') : null,
  }
}

function dueOf(visit: Visit, wait: DueConfig): Due {
  if (wait.until) {
    const moment = visit.fill(wait.until)
    const at = moment instanceof Date ? moment.getTime() : new Date(String(moment)).getTime()
    if (Number.isNaN(at)) {
      throw optionInvalid(
        'until',
        `node "${visit.node.id}"`,
        moment,
        'a moment: a date or its text',
      )
    }
    return { at }
  }
  return { afterMs: durationMs(visit.fill(wait.for) as Duration) }
}

interface EventWait {
  readonly mode: 'event'
  readonly event: string
  readonly match: Template | null
}
interface TimeWait extends DueConfig {
  readonly mode: 'time'
}
interface ConditionWait {
  readonly mode: 'condition'
  readonly if: Template
  readonly everyMs: number
  /** Asked before each look; what it gives is `polled`. */
  readonly poll: ChildCall | null
}
type Wait = EventWait | TimeWait | ConditionWait | { readonly mode: 'none' }

export const waitForEvent: NodeType = {
  name: 'wait-for-event',
  description: 'Waits for an event, for a time, or until a condition is true.',
  ways: [LATE],
  read: (config): Wait => {
    const { mode, event } = config.given
    switch (mode) {
      case 'time':
        config.only('mode', 'for', 'until')
        return { mode, ...readDue(config) }
      case 'event': {
        config.only('mode', 'event', 'match')
        if (!isStepName(event)) config.wrong('event', 'must be the name of an event')
        const match = config.has('match') ? config.template('match') : null
        return { mode, event: String(event), match }
      }
      case 'condition': {
        config.only('mode', 'if', 'every', 'poll')
        const everyMs = config.duration('every') ?? POLL_MS
        if (everyMs < POLL_MIN_MS) config.wrong('every', 'must be a second or more')
        const poll = config.has('poll') ? readPoll(config) : null
        return { mode, if: config.expression('if'), everyMs, poll }
      }
      default:
        config.wrong('mode', `is ${shown(mode)}; it is 'time', 'event' or 'condition'`)
        return { mode: 'none' }
    }
  },
  run: async (visit: Visit) => {
    const wait = visit.node.config as Wait
    switch (wait.mode) {
      case 'event':
        return await waitEvent(visit, wait)
      case 'condition':
        return await waitCondition(visit, wait)
      case 'time': {
        const due = await visit.prepared(() => dueOf(visit, wait))
        await visit.turn.sleep(visit.node.id, due)
        return {}
      }
      case 'none':
        return {}
    }
  },
}

async function waitEvent(visit: Visit, { event, match }: EventWait): Promise<Ended> {
  const { node, turn, scene } = visit
  const keys = await visit.prepared(() => {
    const wanted = match === null ? {} : visit.fill(match)
    if (typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted)) {
      return matchKeys(wanted)
    }
    throw optionInvalid('match', `node "${node.id}"`, wanted, 'an object of fields and values')
  })
  const until = node.timeoutMs === null ? null : { afterMs: node.timeoutMs }
  const wish = { names: [], until, heard: { event, match: keys } }
  const asked = turn.receive(node.id, wish)
  const message = await (until ? asked : scene.watch.waiting(turn.path, asked))
  if (message === null) return late(visit, `event "${event}"`)
  return { output: message.payload === null ? null : decode(message.payload) }
}

/** Looked at now, and then after each pause. Only the last look is replayed. */
async function waitCondition(visit: Visit, wait: ConditionWait): Promise<Ended> {
  const { node, turn, scene } = visit
  const until = node.timeoutMs === null ? null : turn.now() + node.timeoutMs
  const looking = turn.loop(node.id, NOT_YET, async (inner, state): Promise<Looked> => {
    if (state === PAUSE) {
      const next = inner.now() + wait.everyMs
      const at = until === null ? next : Math.min(until, next)
      await inner.sleep('pause', { at })
    }
    const polled = wait.poll ? await callChild(visit, wait.poll, 'poll', inner) : null
    const seen = { now: new Date(inner.now()), polled }
    const isTrue = await visit.prepared(() => wait.if.holds(visit.scope(seen)))
    if (isTrue) return { done: true, value: YES }
    if (until !== null && inner.now() >= until) return { done: true, value: NO }
    return { done: false, value: PAUSE }
  })
  const answer = await (until === null ? scene.watch.waiting(turn.path, looking) : looking)
  return answer === YES ? {} : late(visit, 'its condition')
}

interface Looked {
  readonly done: boolean
  readonly value: Stored
}
const NOT_YET = encode('now', 'a wait')
const PAUSE = encode('later', 'a wait')
const YES = encode(true, 'a wait')
const NO = encode(false, 'a wait')

function readPoll(config: Config): ChildCall {
  const { task, input } = (config.given.poll ?? {}) as Readonly<Record<string, unknown>>
  if (typeof task !== 'string' || !DEFINITION_NAME.test(task)) {
    config.wrong('poll.task', 'must be the name of a task')
  }
  return { target: String(task), input: readTemplate(input, 'poll.input') }
}

/** With an edge for it that is taken; without one the node fails. */
function late(visit: Visit, what: string): Ended {
  if (visit.node.edges.some(({ when }) => when === LATE)) return { branch: LATE }
  throw waitedInVain(visit, what)
}
