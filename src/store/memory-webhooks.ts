// Webhooks of the store in memory.

import { createHash } from 'node:crypto'
import type {
  NewRun,
  NewWebhook,
  Webhook,
  WebhookKey,
  WebhookStore,
  WebhookTarget,
} from '../kernel/store.js'
import { type RunId, type Uid, uuidv7, WEBHOOK_RUN } from '../model/ids.js'
import { DELIVERY, type DeliveredEvent, type DeliveryInput } from '../model/webhook.js'
import { MemoryDefinitions } from './memory-definitions.js'
import { refuseUnstorable } from './memory-refusals.js'
import type { MemoryRun } from './memory-run.js'

interface Row extends Webhook {
  readonly digest: string
  readonly isOn: boolean
}

export class MemoryWebhooks extends MemoryDefinitions implements WebhookStore {
  private readonly byWebhook = new Map<string, Row>()
  private targets: readonly WebhookTarget[] = []

  async putWebhooks(definitions: readonly string[], given: readonly NewWebhook[]): Promise<void> {
    for (const row of this.byWebhook.values()) {
      if (definitions.includes(row.definition)) this.byWebhook.set(row.id, { ...row, isOn: false })
    }
    for (const { timeoutMs, rules, workspace, ...fresh } of given) {
      const known = this.byWebhook.get(fresh.id)
      const row = known ?? { ...fresh, createdAt: this.now(), rotatedAt: null }
      this.byWebhook.set(fresh.id, { ...row, timeoutMs, rules, workspace, isOn: true })
    }
  }

  async webhooks(): Promise<readonly Webhook[]> {
    const rows = [...this.byWebhook.values()].filter(({ isOn }) => isOn)
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1)).map(shown)
  }

  async webhookAt(digest: string): Promise<Webhook | null> {
    const row = [...this.byWebhook.values()].find((one) => one.isOn && one.digest === digest)
    return row ? shown(row) : null
  }

  async rotateWebhook(id: string, to: WebhookKey): Promise<Webhook | null> {
    const row = this.byWebhook.get(id)
    if (!row?.isOn) return null
    const rotated = { ...row, ...to, rotatedAt: this.now() }
    this.byWebhook.set(id, rotated)
    return shown(rotated)
  }

  async startByWebhook(run: NewRun): Promise<'started' | 'known'> {
    const known = this.find(run.workspace, run.id)
    if (known) return known.uid === run.uid ? 'started' : 'known'
    refuseUnstorable([{ kind: 'start', run, claim: false }], this)
    this.startNow({ run, meta: { bornWith: 1 }, message: null })
    return 'started'
  }

  async putWebhookTargets(targets: readonly WebhookTarget[]): Promise<void> {
    this.targets = targets.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  async webhookTargets(): Promise<readonly WebhookTarget[]> {
    return this.targets
  }

  /** As deliver_v1. */
  protected override ended(row: MemoryRun): void {
    const end = row.journal.at(-1)
    const { definition, workspace, parent } = row.run
    if (!end || definition === DELIVERY) return
    for (const target of this.targets) {
      const isAbout =
        target.workflows === null ? parent === null : target.workflows.includes(definition)
      const isHere = target.workspace === null || target.workspace === workspace
      if (isAbout && isHere && target.events.includes(end.kind)) this.deliver(target, row)
    }
  }

  private deliver(target: WebhookTarget, row: MemoryRun): void {
    const input = inputOf(target, row)
    const { workspace } = row.run
    const id = `${WEBHOOK_RUN}${target.id}:${input.uid}:${input.seq}` as RunId
    if (this.find(workspace, id)) return
    const chance = createHash('sha256').update(`${workspace} ${id}`).digest()
    const uid = uuidv7(this.now(), chance.subarray(0, 10)) as Uid
    const rest = { version: null, order: null, priority: 5, delayMs: 0, parent: null }
    const tags = { webhook: target.id, run: row.run.id }
    const names = { uid, id, workspace, definition: DELIVERY }
    const run = { ...rest, ...names, input: JSON.stringify(input), tags, timeoutMs: null }
    this.startNow({ run, meta: { bornWith: 1 }, message: null })
  }
}

function inputOf(target: WebhookTarget, row: MemoryRun): DeliveryInput {
  const { run, uid, version, status, attempt, createdAt, startedAt, finishedAt } = row
  const end = row.journal.at(-1)
  const isTold = end?.kind === 'run.failed' || target.withOutput
  return {
    target: target.id,
    uid,
    seq: row.journal.length,
    event: end?.kind as DeliveredEvent,
    runId: run.id,
    workflow: run.definition,
    version,
    workspace: run.workspace,
    parentId: run.parent?.id ?? null,
    status,
    attempt,
    createdAt,
    startedAt,
    endedAt: finishedAt ?? createdAt,
    reason: end?.meta?.reason ?? null,
    stored: isTold ? (end?.payload ?? null) : null,
  }
}

function shown({ digest: _, isOn: __, ...webhook }: Row): Webhook {
  return webhook
}
