// The filters of the list are the address; what the API is asked follows from it. Pure.

import type { Definition, Filter, WaitReason } from 'perdure'
import { STATUSES, type Status } from '../../ui/statuses.js'

export const SPANS = {
  '1h': { label: 'last hour', ms: 3_600_000 },
  '24h': { label: 'last 24 hours', ms: 86_400_000 },
  '7d': { label: 'last 7 days', ms: 7 * 86_400_000 },
} as const
export type Span = keyof typeof SPANS

export const STYLES: Readonly<Record<Definition['kind'], string>> = {
  workflow: 'function',
  machine: 'machine',
  graph: 'graph',
  task: 'task',
}

export interface Filters {
  readonly statuses: readonly Status[]
  readonly workflow: string | null
  readonly style: Definition['kind'] | null
  readonly reason: WaitReason | null
  readonly tag: string | null
  readonly span: Span | null
  readonly text: string | null
}

export function filtersOf(search: URLSearchParams): Filters {
  const span = search.get('time')
  const style = search.get('style')
  return {
    statuses: (search.get('status')?.split(',') ?? []).filter((one): one is Status =>
      (STATUSES as readonly string[]).includes(one),
    ),
    workflow: search.get('workflow'),
    style: style !== null && Object.hasOwn(STYLES, style) ? (style as Filters['style']) : null,
    reason: search.get('reason') as WaitReason | null,
    tag: search.get('tag')?.includes(':') ? search.get('tag') : null,
    span: span !== null && Object.hasOwn(SPANS, span) ? (span as Span) : null,
    text: search.get('text'),
  }
}

/** As the API takes it. */
export function queryOf(filters: Filters, now: number): Filter {
  const { statuses, workflow, style, reason, tag, span, text } = filters
  return {
    ...(statuses.length > 0 && { status: statuses }),
    ...(workflow !== null && { workflow }),
    ...(style !== null && { kind: style }),
    ...(reason !== null && { reason }),
    ...(tag !== null && { tags: tagsOf(tag) }),
    ...(span !== null && { createdAfter: new Date(now - SPANS[span].ms) }),
    ...(text !== null && { text }),
  }
}

function tagsOf(tag: string): Record<string, string> {
  const colon = tag.indexOf(':')
  return { [tag.slice(0, colon)]: tag.slice(colon + 1) }
}

export const isFiltered = (filters: Filters): boolean =>
  filters.statuses.length > 0 ||
  Object.values(filters).some((one) => one !== null && !Array.isArray(one))
