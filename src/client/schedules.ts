// client.schedules: those of the engine, over HTTP.

import type { Page, RunHandle, ScheduleInfo, Schedules } from '../index.js'
import { PerdureError } from '../model/errors.js'
import { asking, type Connection, path } from './connection.js'
import { makeHandle } from './handle.js'
import { nameOf } from './names.js'
import { paged } from './paged.js'

type Given = Readonly<Record<string, unknown>>
type Started = { readonly id: string }

export function scheduleCalls(
  connection: Connection,
  spaceOf: (options: Given) => string | undefined,
): Schedules {
  const workspace = spaceOf({})
  const ask = asking(connection, workspace)
  const handle = ({ id }: Started): RunHandle =>
    makeHandle(connection, { id, workflow: undefined, workspace })
  const calls = {
    set: async (options: Given) => {
      const { id, workflow, workspace: named, ...rest } = options
      return connection.ask({
        method: 'PUT',
        path: path`/schedules/${id}`,
        body: { ...rest, workflow: nameOf(workflow, 'schedules.set'), at: momentOf(rest.at) },
        workspace: spaceOf({ workspace: named }),
      })
    },
    get: async (id: string) => {
      try {
        return (await ask('GET', path`/schedules/${id}`)) as ScheduleInfo
      } catch (error) {
        if (PerdureError.is(error, 'SCHEDULE_NOT_FOUND')) return null
        throw error
      }
    },
    list: ({ after, ...page }: Given & { after?: string } = {}) =>
      paged(
        after,
        async (from) =>
          (await ask('GET', '/schedules', {
            query: { ...page, after: from },
          })) as Page<ScheduleInfo>,
      ),
    pause: async (id: string) => void (await ask('POST', path`/schedules/${id}/pause`)),
    resume: async (id: string) => void (await ask('POST', path`/schedules/${id}/resume`)),
    runNow: async (id: string, options: Given = {}) =>
      handle((await ask('POST', path`/schedules/${id}/run`, { body: options })) as Started),
    backfill: async (id: string, span: Given) => {
      const body = { from: momentOf(span.from), to: momentOf(span.to) }
      const { items } = (await ask('POST', path`/schedules/${id}/backfill`, { body })) as {
        items: readonly Started[]
      }
      return items.map(handle)
    },
    next: async (id: string, count?: number) => {
      const query = { count }
      return ((await ask('GET', path`/schedules/${id}/next`, { query })) as { items: Date[] }).items
    },
    delete: async (id: string) => void (await ask('DELETE', path`/schedules/${id}`)),
  }
  return calls as unknown as Schedules
}

/** Dates go as texts, which is what the API takes; a Temporal value has its milliseconds. */
export function momentOf(given: unknown): unknown {
  if (given instanceof Date)
    return Number.isNaN(given.getTime()) ? 'Invalid Date' : given.toISOString()
  const { epochMilliseconds } = (given ?? {}) as { epochMilliseconds?: unknown }
  return typeof epochMilliseconds === 'number' ? new Date(epochMilliseconds).toISOString() : given
}
