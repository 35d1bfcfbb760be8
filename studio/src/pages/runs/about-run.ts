// One line about a run, for lists. Pure.

import type { RunInfo } from 'perdure'
import { cut } from '../../lib/format.js'
import { REASON_WORDS } from '../../ui/statuses.js'

const LENGTH_MAX = 200

export function aboutRun(run: RunInfo): string {
  return cut(textOf(run).replaceAll('\n', ' '), LENGTH_MAX)
}

function textOf(run: RunInfo): string {
  const place = run.place === null ? '' : `at ${run.place}`
  if (run.status === 'waiting') {
    const names = (run.available ?? []).map(({ name }) => name).join(', ')
    const waits = names === '' ? REASON_WORDS[run.reason] : `waits for ${names}`
    const error = run.error ? `: ${run.error.message}` : ''
    return [place, waits].filter(Boolean).join(', ') + error
  }
  if (run.error) {
    const step = run.error.step === undefined ? '' : `${run.error.step}: `
    return `${step}${run.error.message}`
  }
  return place
}
