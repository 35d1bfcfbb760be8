// The contract of the store: definitions that are stored, with their versions.

import { expect } from 'vitest'
import type { NewDefinition, Store } from '../../src/kernel/store.js'
import type { LimitRules } from '../../src/model/admission.js'
import type { MessageId, RunId } from '../../src/model/ids.js'
import { commit, newRun, newUid, start, worker } from './builders.js'
import type { Case } from './store-contract.js'

const HOUR = 3_600_000
const LIMITS: LimitRules = {
  concurrency: 2,
  perWorkspace: null,
  perKey: null,
  keyPath: null,
  rate: null,
  keyRate: null,
}

function definition(changes: Partial<NewDefinition> = {}): NewDefinition {
  const rest = {
    note: null,
    author: null,
    expected: null,
    limits: LIMITS,
    schedules: [],
    events: [],
  }
  return { name: 'graph', workspace: null, json: '{"n":1}', ...rest, ...changes }
}

const scheduleOf = (name: string, workspace = 'default') => ({
  workspace,
  id: `${name}:0`,
  definition: name,
  spec: { everyMs: HOUR, jitterMs: 0 },
  plan: { missed: 'once' as const, catchUpMs: null, tags: {}, timeoutMs: null },
  overlap: 'allow' as const,
  input: '1',
  of: name,
  next: { slot: HOUR, at: HOUR },
})
const cameTo = [{ event: 'came', match: [], timeoutMs: null }]

async function emitted(store: Store, workspace: string, id: string) {
  await store.emit(workspace, { id: id as MessageId, name: 'came', keys: [], payload: '1' }, null)
  return store.read.get(workspace, `event:${id}:graph` as RunId)
}

export function definitionContract(on: Case): void {
  on('versions count from 1; the text of the current one again is no new one', async (s) => {
    const { store } = s
    expect(await store.definition('graph')).toBeNull()
    expect(await store.saveDefinition(definition({ note: 'it\'s "so"', author: 'ada' }))).toEqual({
      kind: 'saved',
      version: 1,
    })
    await s.advance(1_000)
    expect(await store.saveDefinition(definition())).toEqual({ kind: 'same', version: 1 })
    const two = definition({ json: '{"n":"\\u001f\\u0000"}' })
    expect(await store.saveDefinition(two)).toEqual({ kind: 'saved', version: 2 })
    expect(await store.saveDefinition(definition())).toEqual({ kind: 'saved', version: 3 })
    const head = await store.definition('graph')
    expect(head).toMatchObject({ name: 'graph', version: 3, workspace: null, isArchived: false })
    expect(Number(head?.updatedAt) - Number(head?.createdAt)).toBeGreaterThanOrEqual(1_000)
    const versions = await store.definitionVersions('graph', null, 2)
    expect(versions.map(({ version, note, author }) => [version, note, author])).toEqual([
      [3, null, null],
      [2, null, null],
    ])
    expect(await store.definitionVersions('graph', 2, 9)).toMatchObject([
      { version: 1, note: 'it\'s "so"', author: 'ada' },
    ])
    const pairs = [1, 2, 9].map((version) => ({ name: 'graph', version }))
    const texts = await store.definitionTexts([...pairs, { name: 'none', version: 1 }])
    expect(texts.map(({ json }) => json).sort()).toEqual(['{"n":"\\u001f\\u0000"}', '{"n":1}'])
    expect(await store.definitionTexts([])).toEqual([])
  })

  on('of all who expect a version one makes the next, and its answer may be lost', async (s) => {
    const { store } = s
    const texts = ['1', '2', '3', '4']
    const saved = await Promise.all(
      texts.map((json) => store.saveDefinition(definition({ json, expected: 0 }))),
    )
    expect(saved.map(({ kind }) => kind).sort()).toEqual(['changed', 'changed', 'changed', 'saved'])
    expect(saved).toContainEqual({ kind: 'changed', version: 1 })
    const [{ json = '' } = {}] = await store.definitionTexts([{ name: 'graph', version: 1 }])
    const again = await store.saveDefinition(definition({ json, expected: 0 }))
    expect(again).toEqual({ kind: 'same', version: 1 })
    const other = definition({ name: 'other', expected: 3 })
    expect(await store.saveDefinition(other)).toEqual({ kind: 'changed', version: null })
    expect(await store.definition('other')).toBeNull()
    await Promise.all(texts.map((one) => store.saveDefinition(definition({ json: `[${one}]` }))))
    const versions = await store.definitionVersions('graph', null, 10)
    expect(versions.map(({ version }) => version)).toEqual([5, 4, 3, 2, 1])
  })

  on('a name belongs to one workspace, to all of them, or to code', async ({ store }) => {
    await store.saveDefinition(definition({ name: 'mine', workspace: 'x' }))
    await store.saveDefinition(definition({ name: 'shared' }))
    const save = (name: string, workspace: string | null) =>
      store.saveDefinition(definition({ name, workspace, json: '2' }))
    expect(await save('mine', 'y')).toEqual({ kind: 'taken' })
    expect(await save('mine', null)).toEqual({ kind: 'taken' })
    expect(await save('shared', 'x')).toEqual({ kind: 'taken' })
    expect(await save('mine', 'x')).toEqual({ kind: 'saved', version: 2 })
    const names = async (workspace: string | null, after: string | null = null, limit = 9) =>
      (await store.definitions({ workspace, after, limit })).map(({ name }) => name)
    expect(await names(null)).toEqual(['mine', 'shared'])
    expect(await names('x')).toEqual(['mine', 'shared'])
    expect(await names('y')).toEqual(['shared'])
    expect([await names(null, 'mine'), await names(null, null, 1)]).toEqual([['shared'], ['mine']])
    const stored = { name: 'shared', version: '#1', isStored: true }
    await store.join(worker({ definitions: [stored, { name: 'coded', version: '7' }] }))
    expect(await save('coded', null)).toEqual({ kind: 'code' })
    expect(await save('shared', null)).toMatchObject({ kind: 'saved' })
  })

  on('what a version says of limits and triggers holds with it', async ({ store }) => {
    const first = definition({ schedules: [scheduleOf('graph')], events: cameTo })
    await store.saveDefinition(first)
    expect(await store.read.limitRules()).toContainEqual({ definition: 'graph', ...LIMITS })
    expect(await store.schedule('default', 'graph:0')).toMatchObject({ of: 'graph', revision: 1 })
    expect(await emitted(store, 'default', 'e1')).toMatchObject({ version: '#1', slot: false })
    await store.saveDefinition({ ...first, json: '2', limits: { ...LIMITS, concurrency: 5 } })
    expect(await store.schedule('default', 'graph:0')).toMatchObject({ revision: 1 })
    expect(await emitted(store, 'default', 'e2')).toMatchObject({ version: '#2' })
    // Neither who executes it nor who has never heard of it has a say.
    await store.join(worker({ definitions: [{ name: 'graph', version: '#1', isStored: true }] }))
    await store.join(worker())
    expect(await store.read.limitRules()).toContainEqual(
      expect.objectContaining({ definition: 'graph', concurrency: 5 }),
    )
    await store.saveDefinition(definition({ json: '3' }))
    expect(await store.schedule('default', 'graph:0')).toBeNull()
    expect(await emitted(store, 'default', 'e3')).toBeNull()
  })

  on('a lone start and a slot are of the current version; elsewhere of none', async (s) => {
    const { store } = s
    await store.saveDefinition(
      definition({ workspace: 'x', schedules: [scheduleOf('graph', 'x')] }),
    )
    const { due } = await store.dueSchedules(1)
    const run = { uid: newUid(), id: 'cron:a' as RunId, tags: {}, timeoutMs: null }
    for (const of of due) await store.fire({ of, behind: HOUR, next: null, run })
    expect(await store.read.get('x', run.id)).toMatchObject({ version: '#1' })
    for (const [workspace, version] of [
      ['x', '#1'],
      ['y', null],
    ] as const) {
      const lone = newRun({ workspace, definition: 'graph', version: null })
      await store.startAlone({ run: lone, meta: null, message: null }, null)
      expect(await store.read.get(workspace, lone.id)).toMatchObject({ version })
    }
  })

  on('an event starts a definition of a workspace there alone', async ({ store }) => {
    await store.saveDefinition(definition({ workspace: 'x', events: cameTo }))
    expect(await emitted(store, 'x', 'e1')).toMatchObject({ version: '#1' })
    expect(await emitted(store, 'y', 'e1')).toBeNull()
  })

  on('what is archived starts no more, until it is saved again', async ({ store }) => {
    const full = definition({ schedules: [scheduleOf('graph')], events: cameTo })
    await store.saveDefinition(full)
    await store.putSchedule({ ...scheduleOf('graph'), id: 'people', of: null })
    expect(await store.archiveDefinition('graph', 'x')).toBe(false)
    expect(await store.archiveDefinition('nobody', null)).toBe(false)
    expect(await store.archiveDefinition('graph', null)).toBe(true)
    expect(await store.archiveDefinition('graph', null)).toBe(true)
    expect(await store.definition('graph')).toMatchObject({ version: 1, isArchived: true })
    expect(await store.schedule('default', 'graph:0')).toBeNull()
    expect(await store.schedule('default', 'people')).toMatchObject({ isPaused: true, next: null })
    expect(await emitted(store, 'default', 'e1')).toBeNull()
    expect(await store.read.limitRules()).toHaveLength(1)
    expect(await store.saveDefinition(full)).toEqual({ kind: 'same', version: 1 })
    expect(await store.definition('graph')).toMatchObject({ isArchived: false })
    expect(await emitted(store, 'default', 'e2')).toMatchObject({ version: '#1' })
  })

  on('what has changed, and which versions unfinished runs are of, is cheap to ask', async (s) => {
    const { store } = s
    const by = worker()
    const revision = async () => (await store.usedDefinitions()).revision
    expect(await store.usedDefinitions()).toEqual({ revision: 0, used: [] })
    await store.saveDefinition(definition())
    expect(await revision()).toBe(1)
    await store.saveDefinition(definition())
    expect(await revision()).toBe(1)
    await store.archiveDefinition('graph', null)
    expect(await revision()).toBe(2)
    const of = (name: string, version: string | null) => start({ definition: name, version })
    await store.join(by)
    const starts = [of('graph', '#2'), of('graph', '#10'), of('graph', '#2'), of('a', '#1')]
    await commit(store, by, ...starts, of('order', '1'), of('order', null))
    const used = async () =>
      (await store.usedDefinitions()).used.map(({ name, version }) => `${name} ${version}`).sort()
    expect(await used()).toEqual(['a 1', 'graph 10', 'graph 2'])
  })

  on('of several versions a run is executed with its own, or gets the first', async ({ store }) => {
    const definitions = ['#3', '#1'].map((version) => ({ name: 'graph', version, isStored: true }))
    const by = worker({ definitions })
    await store.join(by)
    const versions = ['#1', '#2', '#3', null]
    const starts = versions.map((version) => start({ definition: 'graph', version }))
    await commit(store, by, ...starts)
    const { claimed } = await store.claim(by, 10, 1)
    const found = starts.map(({ run }) => claimed.find(({ uid }) => uid === run.uid)?.version)
    expect(found).toEqual(['#1', undefined, '#3', '#3'])
  })

  on('a worker says what else it executes, unless it was taken for dead', async (s) => {
    const { store } = s
    const by = worker({ definitions: [] })
    await store.join(by)
    const more = { ...by, definitions: [{ name: 'graph', version: '#1', isStored: true }] }
    await store.declare(more)
    expect(await store.read.liveDefinitions()).toEqual(['graph@#1'])
    await store.leave(more)
    await store.declare(more)
    expect(await store.read.liveDefinitions()).toEqual([])
    expect(await store.beat(more)).toMatchObject({ alive: false })
  })
}
