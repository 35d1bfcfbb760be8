// The contract of the store: webhooks that start runs, and deliveries of the ends of runs.

import { expect } from 'vitest'
import type { NewWebhook, RunFilter, Store, WebhookTarget } from '../../src/kernel/store.js'
import type { RunId } from '../../src/model/ids.js'
import { DELIVERY } from '../../src/model/webhook.js'
import {
  commit,
  ended,
  fenceOf,
  newRun,
  newUid,
  ownedRun,
  PLAIN,
  RESENT,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

const RULES = { hmac: null, dedupe: null, headers: ['x-a'] }
const EVERY_RUN: RunFilter = {
  workspace: null,
  definition: null,
  statuses: null,
  reason: null,
  tags: {},
  parentId: null,
  createdAfter: null,
  createdBefore: null,
  text: null,
  after: null,
  newestFirst: false,
  limit: 100,
}

function webhook(id: string, changes: Partial<NewWebhook> = {}): NewWebhook {
  const key = `key of ${id}`
  const names = {
    id,
    key,
    digest: `digest of ${key}`,
    label: 'in',
    definition: 'order',
    workspace: 'acme',
  }
  return { ...names, timeoutMs: null, rules: RULES, ...changes }
}

function target(id: string, changes: Partial<WebhookTarget> = {}): WebhookTarget {
  const where = { url: 'https://example.com/', secret: 'S', workspace: null, workflows: null }
  return { id, ...where, events: ['run.completed'], withOutput: false, ...changes }
}

async function deliveries(store: Store) {
  const runs = await store.read.list({ ...EVERY_RUN, definition: DELIVERY })
  return runs.map(({ id, input, workspace, tags }) => {
    return { id, workspace, tags, input: JSON.parse(input) as Record<string, unknown> }
  })
}

export function webhookContract(on: Case): void {
  on(
    'a webhook keeps its key over every put, and is found by the digest of its path',
    async (s) => {
      const { store } = s
      await store.putWebhooks(['order'], [webhook('order:2'), webhook('order:1')])
      const again = webhook('order:1', { key: 'x', digest: 'y', timeoutMs: 5, workspace: 'b' })
      await store.putWebhooks(['order'], [again, webhook('order:2')])
      const all = await store.webhooks()
      expect(all.map(({ id }) => id)).toEqual(['order:1', 'order:2'])
      expect(all[0]).toMatchObject({
        key: 'key of order:1',
        timeoutMs: 5,
        workspace: 'b',
        rules: RULES,
      })
      expect(await store.webhookAt('digest of key of order:1')).toEqual(all[0])
      expect(await store.webhookAt('y')).toBeNull()
    },
  )

  on('one that its definition has no more is not there, and comes back as it was', async (s) => {
    const { store } = s
    await store.putWebhooks(['order', 'other'], [webhook('order:1')])
    const [first] = await store.webhooks()
    await store.putWebhooks(['other'], [])
    expect(await store.webhooks()).toHaveLength(1)
    await store.putWebhooks(['order'], [])
    expect(await store.webhooks()).toEqual([])
    expect(await store.webhookAt('digest of key of order:1')).toBeNull()
    expect(await store.rotateWebhook('order:1', { key: 'k', digest: 'd' })).toBeNull()
    await store.putWebhooks(['order'], [webhook('order:1', { key: 'x', digest: 'y' })])
    expect(await store.webhooks()).toEqual([first])
  })

  on('a rotated one has the new path and not the old one', async ({ store }) => {
    await store.putWebhooks(['order'], [webhook('order:1')])
    const rotated = await store.rotateWebhook('order:1', { key: 'k', digest: 'd' })
    expect(rotated).toMatchObject({ key: 'k', rotatedAt: expect.any(Number) })
    expect(await store.webhookAt('d')).toEqual(rotated)
    expect(await store.webhookAt('digest of key of order:1')).toBeNull()
    expect(await store.rotateWebhook('order:9', { key: 'k9', digest: 'd9' })).toBeNull()
  })

  on('of all starts under one id one starts a run, whatever their input', async ({ store }) => {
    const run = (input: string) => newRun({ uid: newUid(), id: 'webhook:o:1' as RunId, input })
    const runs = [run('1'), run('2'), run('3')]
    const answers = await Promise.all(runs.map((one) => store.startByWebhook(one)))
    expect(answers.sort()).toEqual(['known', 'known', 'started'])
    const again = run('4')
    expect(await store.startByWebhook({ ...again, id: 'webhook:o:2' as RunId })).toBe('started')
    expect(await store.startByWebhook({ ...again, id: 'webhook:o:2' as RunId })).toBe('started')
    expect(await store.read.list(EVERY_RUN)).toHaveLength(2)
  })

  on('the end of a run inserts a delivery for each target that is to be told, once', async (s) => {
    const { store } = s
    await store.putWebhookTargets([
      target('b', { withOutput: true }),
      target('a'),
      target('other-event', { events: ['run.failed'] }),
      target('other-workspace', { workspace: 'acme' }),
      target('other-workflow', { workflows: ['x'] }),
      target('named', { workflows: ['order', 'x'], workspace: 'default' }),
    ])
    const by = worker()
    const run = await ownedRun(store, by)
    const fence = fenceOf(run, by)
    const end = ended(fence)
    await commit(store, by, end)
    await store.commit(by, [end], RESENT)
    const found = await deliveries(store)
    const { uid, seq } = fence
    expect(found.map(({ id }) => id).sort()).toEqual(
      ['a', 'b', 'named'].map((id) => `webhook:${id}:${uid}:${seq + 1}`),
    )
    const [a, b] = ['a', 'b'].map((id) => found.find(({ input }) => input.target === id))
    expect(a?.input).toMatchObject({
      uid,
      seq: seq + 1,
      event: 'run.completed',
      workflow: 'order',
      workspace: 'default',
      status: 'completed',
      parentId: null,
      reason: null,
      stored: null,
    })
    expect(a?.input.endedAt).toEqual(expect.any(Number))
    expect(b?.input.stored).toBe(end.entries.at(-1)?.payload)
    expect(a?.tags).toEqual({ webhook: 'a', run: a?.input.runId })
    // Those that are not asked for are in no list.
    expect(await store.read.list(EVERY_RUN)).toHaveLength(1)
    expect(await store.read.list({ ...EVERY_RUN, newestFirst: true })).toHaveLength(1)
  })

  on(
    'nothing is delivered of what was not stored, of deliveries, and without targets',
    async (s) => {
      const { store } = s
      const by = worker()
      const before = await ownedRun(store, by)
      await commit(store, by, ended(fenceOf(before, by)))
      await store.putWebhookTargets([target('a', { workflows: ['order', DELIVERY] }), target('b')])
      const run = await ownedRun(store, by)
      const stale = ended(fenceOf(run, by, 2))
      expect((await store.commit(by, [stale], PLAIN)).answers).toEqual([{ kind: 'stale' }])
      expect(await deliveries(store)).toEqual([])
      const delivery = await ownedRun(store, by, { definition: DELIVERY })
      await commit(store, by, ended(fenceOf(delivery, by)))
      expect(await deliveries(store)).toHaveLength(1)
      await store.putWebhookTargets([])
      expect(await store.webhookTargets()).toEqual([])
      await commit(store, by, ended(fenceOf(run, by)))
      expect(await deliveries(store)).toHaveLength(1)
    },
  )

  on('targets are stored as they were given, in the order of their ids', async ({ store }) => {
    const all = [
      target('a', { workflows: ['it\'s "so"', 'x'], workspace: 'acme', withOutput: true }),
      target('b', { events: ['run.failed', 'run.timed_out'] }),
    ]
    await store.putWebhookTargets(all.toReversed())
    expect(await store.webhookTargets()).toEqual(all)
    const [, changed = target('b')] = all.map((one) => ({ ...one, url: 'https://b.example/' }))
    await store.putWebhookTargets([changed])
    expect(await store.webhookTargets()).toEqual([changed])
  })
}
