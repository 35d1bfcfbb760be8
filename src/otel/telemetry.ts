// Spans. A run is told of when it has ended, because no span can be carried from process to process; what happened in it hangs, as the run
// itself does, below the span of its start.

import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { StartedRun, StepSpan, Telemetry, TurnSpan } from '../kernel/ports.js'
import { errorRecord } from '../model/error-record.js'
import type { FinalStatus, RunFacts, Stored } from '../model/run.js'
import { spanContextOf, traceText } from './trace-text.js'

export interface TelemetryOptions {
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider | undefined
}

/** For the option `telemetry` of createEngine. */
export function openTelemetry({ tracerProvider }: TelemetryOptions = {}): Telemetry {
  // The global provider may be set later than the engine is made.
  const tracer = (): Tracer => (tracerProvider ?? trace).getTracer('perdure')
  return {
    started: (run) => startSpan(tracer(), run, context.active()),
    sent: ({ workspace, id }, name) => {
      const attributes = { 'perdure.run.id': id, 'perdure.workspace': workspace }
      const span = tracer().startSpan(`send ${name}`, { kind: SpanKind.PRODUCER, attributes })
      span.end()
      return stored(span)
    },
    turn: (run, epoch) => new Turn(tracer(), run, epoch),
    ended: (run, status, payload, at) => {
      const attributes = { ...attributesOf(run), 'perdure.status': status }
      const options = { startTime: run.createdAt, attributes }
      const span = tracer().startSpan(`run ${run.definition}`, options, parentOf(run))
      if (status !== 'completed') failed(span, errorOf(status, payload))
      span.end(at)
    },
  }
}

function startSpan(tracer: Tracer, run: StartedRun, parent: Context): string | null {
  const options = { kind: SpanKind.PRODUCER, attributes: attributesOf(run) }
  const span = tracer.startSpan(`start ${run.definition}`, options, parent)
  span.end()
  return stored(span)
}

/** One that nobody records has no ids. */
function stored(span: Span): string | null {
  const of = span.spanContext()
  return trace.isSpanContextValid(of) ? traceText(of) : null
}

class Turn implements TurnSpan {
  private readonly tracer: Tracer
  private readonly span: Span
  private readonly context: Context

  constructor(tracer: Tracer, run: RunFacts, epoch: number) {
    this.tracer = tracer
    const parent = parentOf(run)
    const attributes = { ...attributesOf(run), 'perdure.turn': epoch }
    const options = { kind: SpanKind.CONSUMER, attributes }
    this.span = tracer.startSpan(`turn ${run.definition}`, options, parent)
    this.context = trace.setSpan(parent, this.span)
  }

  started(run: StartedRun): string | null {
    return startSpan(this.tracer, run, this.context)
  }

  linked(text: string): void {
    const of = spanContextOf(text)
    if (of) this.span.addLink({ context: of })
  }

  step(step: string, attempt: number): StepSpan {
    const attributes = { 'perdure.step': step, 'perdure.attempt': attempt }
    const span = this.tracer.startSpan(`step ${step}`, { attributes }, this.context)
    const inside = trace.setSpan(this.context, span)
    let isOver = false
    return {
      inside: (work) => context.with(inside, work),
      end: (error) => {
        if (isOver) return
        isOver = true
        if (error !== null) failed(span, typeof error === 'string' ? errorRecord(error) : error)
        span.end()
      },
    }
  }

  end(how: string): void {
    this.span.setAttribute('perdure.status', how)
    this.span.end()
  }
}

function failed(span: Span, error: unknown): void {
  const { name, message } = Object(error) as { name?: unknown; message?: unknown }
  const text = String(message ?? error)
  span.recordException({ name: String(name ?? 'Error'), message: text })
  span.setStatus({ code: SpanStatusCode.ERROR, message: text })
}

function errorOf(status: FinalStatus, payload: Stored | null): object {
  return payload === null ? { name: status, message: status } : errorRecord(payload)
}

function attributesOf(run: StartedRun & { readonly parentId?: string | null }): Attributes {
  const { id, workspace, definition, version, parentId } = run
  return {
    'perdure.run.id': id,
    'perdure.workflow': definition,
    'perdure.workspace': workspace,
    ...(version !== null && { 'perdure.workflow.version': version }),
    ...(parentId != null && { 'perdure.parent.id': parentId }),
  }
}

/** Of a run that nobody traced has the ids of its uid, so that all of it is one trace. */
function parentOf({ trace: text, uid }: RunFacts): Context {
  const hex = uid.replaceAll('-', '')
  const own: SpanContext = {
    traceId: hex,
    spanId: hex.slice(16),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  }
  return trace.setSpanContext(ROOT_CONTEXT, (text && spanContextOf(text)) || own)
}
