// Schedules and webhooks, for callers: a database that does not answer is an error with a name.

import { named } from './reading.js'
import type { ScheduleStore, WebhookStore } from './store.js'

export function schedulingFor(store: ScheduleStore): ScheduleStore {
  return {
    putSchedule: (...args) => named(store.putSchedule(...args)),
    schedules: (...args) => named(store.schedules(...args)),
    schedule: (...args) => named(store.schedule(...args)),
    schedulesOf: (...args) => named(store.schedulesOf(...args)),
    subscribe: (...args) => named(store.subscribe(...args)),
    pauseSchedule: (...args) => named(store.pauseSchedule(...args)),
    dropSchedule: (...args) => named(store.dropSchedule(...args)),
    dueSchedules: (...args) => named(store.dueSchedules(...args)),
    fire: (...args) => named(store.fire(...args)),
  }
}

export function webhooksFor(store: WebhookStore): WebhookStore {
  return {
    putWebhooks: (...args) => named(store.putWebhooks(...args)),
    webhooks: (...args) => named(store.webhooks(...args)),
    webhookAt: (...args) => named(store.webhookAt(...args)),
    rotateWebhook: (...args) => named(store.rotateWebhook(...args)),
    startByWebhook: (...args) => named(store.startByWebhook(...args)),
    putWebhookTargets: (...args) => named(store.putWebhookTargets(...args)),
    webhookTargets: (...args) => named(store.webhookTargets(...args)),
  }
}
