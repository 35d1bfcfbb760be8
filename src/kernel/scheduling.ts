// Schedules, stored definitions, webhooks and streams, for callers: a database that does not answer is an error with a name.

import { named } from './reading.js'
import type { DefinitionStore, ScheduleStore, StreamStore, WebhookStore } from './store.js'

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

export function definitionsFor(store: DefinitionStore): DefinitionStore {
  return {
    saveDefinition: (...args) => named(store.saveDefinition(...args)),
    archiveDefinition: (...args) => named(store.archiveDefinition(...args)),
    definition: (...args) => named(store.definition(...args)),
    definitions: (...args) => named(store.definitions(...args)),
    definitionTexts: (...args) => named(store.definitionTexts(...args)),
    definitionVersions: (...args) => named(store.definitionVersions(...args)),
    usedDefinitions: (...args) => named(store.usedDefinitions(...args)),
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

export function streamsFor(store: StreamStore): StreamStore {
  return {
    publish: (...args) => named(store.publish(...args)),
    standings: (...args) => named(store.standings(...args)),
    chunks: (...args) => named(store.chunks(...args)),
    follow: (...args) => named(store.follow(...args)),
    changes: (...args) => named(store.changes(...args)),
  }
}
