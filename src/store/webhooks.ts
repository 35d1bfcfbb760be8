// Webhooks on SQL.

import type { NewRun, Webhook, WebhookStore, WebhookTarget } from '../kernel/store.js'
import type { WebhookRules } from '../model/webhook.js'
import type { Row, SqlValue } from './driver.js'
import type { Sql } from './sql.js'
import { metaText, numberOf, numberOfOrNull, onlyRow, pack, textOf, textOrNull } from './wire.js'

type Query = (text: string, params: readonly SqlValue[]) => Promise<readonly Row[]>

/** Nobody has told of such a run but the worker that executes it first. */
const META = metaText({ bornWith: 1 })

export function sqlWebhooks(sql: Sql, write: Query): WebhookStore {
  return {
    async putWebhooks(definitions, webhooks) {
      const rows = webhooks.map(({ rules, ...one }) => {
        const names = [one.id, one.digest, one.key, one.label, one.definition]
        return [...names, one.timeoutMs, JSON.stringify(rules), one.workspace]
      })
      await write(sql.putWebhooks, [pack(definitions), JSON.stringify(rows)])
    },
    async webhooks() {
      return (await write(sql.webhooks, [null])).map(webhookOf)
    },
    async webhookAt(digest) {
      const [row] = await write(sql.webhooks, [digest])
      return row ? webhookOf(row) : null
    },
    async rotateWebhook(id, { key, digest }) {
      const [row] = await write(sql.rotateWebhook, [id, key, digest])
      return row ? webhookOf(row) : null
    },
    async startByWebhook(run) {
      const row = onlyRow(await write(sql.startByWebhook, startParams(run)))
      return row.kind === 'done' ? 'started' : 'known'
    },
    async putWebhookTargets(targets) {
      const rows = targets.map(({ id, url, secret, events, workflows, workspace, withOutput }) => {
        return [id, url, secret, events, workflows, workspace, withOutput]
      })
      await write(sql.putWebhookTargets, [JSON.stringify(rows)])
    },
    async webhookTargets() {
      return (await write(sql.webhookTargets, [])).map(targetOf)
    },
  }
}

function startParams(run: NewRun): SqlValue[] {
  const names = [run.workspace, run.id, run.definition, run.version, JSON.stringify(run.tags)]
  const counted = [run.limits?.workspace ?? null, run.limits?.key ?? null]
  return [run.uid, run.timeoutMs, ...names, META, run.input, ...counted]
}

function webhookOf(row: Row): Webhook {
  return {
    id: textOf(row, 'id'),
    key: textOf(row, 'key'),
    label: textOf(row, 'label'),
    definition: textOf(row, 'def'),
    workspace: textOf(row, 'workspace'),
    timeoutMs: numberOfOrNull(row, 'timeout_ms'),
    rules: JSON.parse(textOf(row, 'options')) as WebhookRules,
    createdAt: numberOf(row, 'created_at'),
    rotatedAt: numberOfOrNull(row, 'rotated_at'),
  }
}

function targetOf(row: Row): WebhookTarget {
  const workflows = textOrNull(row, 'workflows')
  return {
    id: textOf(row, 'id'),
    url: textOf(row, 'url'),
    secret: textOf(row, 'secret'),
    events: JSON.parse(textOf(row, 'events')) as string[],
    workflows: workflows === null ? null : (JSON.parse(workflows) as string[]),
    workspace: textOrNull(row, 'workspace'),
    withOutput: row.with_output === true,
  }
}
