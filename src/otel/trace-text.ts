// A trace as it is stored: traceparent of the W3C, and tracestate behind a space if there is one.

import { createTraceState, type SpanContext } from '@opentelemetry/api'

const FORM = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?: (.+))?$/

export function traceText({ traceId, spanId, traceFlags, traceState }: SpanContext): string {
  const flags = traceFlags.toString(16).padStart(2, '0')
  const state = traceState?.serialize() ?? ''
  return `00-${traceId}-${spanId}-${flags}${state === '' ? '' : ` ${state}`}`
}

export function spanContextOf(text: string): SpanContext | null {
  const [, traceId, spanId, flags, state] = FORM.exec(text) ?? []
  if (traceId === undefined || spanId === undefined) return null
  const traceFlags = Number.parseInt(flags ?? '00', 16)
  const own = { traceId, spanId, traceFlags, isRemote: true }
  return state === undefined ? own : { ...own, traceState: createTraceState(state) }
}
