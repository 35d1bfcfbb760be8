// Tracing: which span each turn and each step of this process has. Only there if somebody asked for spans; what is replayed has none.

import type { Uid } from '../model/ids.js'
import { Failure } from '../model/program.js'
import type { Instant, Message, RunFacts } from '../model/run.js'
import type { ExecuteStep, Execution } from './attempt.js'
import type { Telemetry, TurnSpan } from './ports.js'
import type { NewRun, TurnDelta } from './store.js'

export class Tracing {
  private readonly telemetry: Telemetry
  private readonly turns = new Map<Uid, TurnSpan>()

  constructor(telemetry: Telemetry) {
    this.telemetry = telemetry
  }

  /** A run is ours, from its beginning on or again. */
  begun(run: RunFacts, epoch: number): void {
    this.turns.set(run.uid, this.telemetry.turn(run, epoch))
  }

  /** It is not ours any more. */
  over(uid: Uid, how = 'lost'): void {
    this.turns.get(uid)?.end(how)
    this.turns.delete(uid)
  }

  committed(run: RunFacts, { next, entries }: TurnDelta, at: Instant): void {
    if (next.kind === 'go') return
    if (next.kind === 'end') {
      this.telemetry.ended(run, next.status, entries.at(-1)?.payload ?? null, at)
    }
    this.over(run.uid, next.kind === 'park' ? `waiting: ${next.reason}` : statusOf(next))
  }

  started(by: Uid, run: NewRun): string | null {
    return this.turns.get(by)?.started(run) ?? null
  }

  took(uid: Uid, { meta }: Message): void {
    if (meta?.trace !== undefined) this.turns.get(uid)?.linked(meta.trace)
  }

  /** The code of steps, each execution in a span of its own that is active while it runs. */
  steps(inner: ExecuteStep | null): ExecuteStep {
    return (execution) => {
      const call = () => inner?.(execution) ?? execution.order.execute(execution.attempt)
      const turn = this.turns.get(execution.run.uid)
      return turn ? inSpan(turn, execution, call) : call()
    }
  }
}

/** A child that a turn starts hangs below that turn. */
export function tracedChild(tracing: Tracing | null, parent: RunFacts, run: NewRun): NewRun {
  const trace = tracing?.started(parent.uid, run) ?? null
  return trace === null ? run : { ...run, trace }
}

function statusOf(next: TurnDelta['next']): string {
  return next.kind === 'end' ? next.status : 'released'
}

async function inSpan<T>(
  turn: TurnSpan,
  { attempt }: Execution,
  call: () => Promise<T>,
): Promise<T> {
  const span = turn.step(attempt.step, attempt.number)
  // Code that is told to stop may never end.
  const told = (): void => span.end(attempt.signal.reason)
  attempt.signal.addEventListener('abort', told, { once: true })
  try {
    const value = await span.inside(call)
    span.end(null)
    return value
  } catch (error) {
    span.end(error instanceof Failure ? error.error : error)
    throw error
  } finally {
    attempt.signal.removeEventListener('abort', told)
  }
}
