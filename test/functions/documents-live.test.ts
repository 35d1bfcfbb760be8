// wf.documents, engine.documents and engine.checkpoints, on real databases.

import { describe, expect, test } from 'vitest'
import { document, MessageDocument, type Schema, typed, workflow } from '../../src/index.js'
import { type Store, StoreUnavailable } from '../../src/kernel/store.js'
import { encode } from '../../src/model/codec.js'
import type { RunId } from '../../src/model/ids.js'
import {
  commit,
  entry,
  fenceOf,
  newDocument,
  ownedRun,
  turn,
  worker,
} from '../contract/builders.js'
import { describeOn } from '../support/databases.js'
import { instead } from '../support/instead.js'
import { all, eventually, fresh, kindsOf, refusalOf, worldOn } from '../support/world.js'

/** Takes texts, gives them with capitals, and counts how often it was asked. */
function shouting(): Schema<{ text: string }> & { asked: number } {
  const schema = {
    asked: 0,
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: async (value: unknown) => {
        schema.asked += 1
        const { text } = value as { text: unknown }
        return typeof text === 'string'
          ? { value: { text: text.toUpperCase() } }
          : { issues: [{ message: 'must be a text', path: ['text'] }] }
      },
    },
  }
  return schema as never
}

const Note = document('Note', typed<{ text: string }>())
const textsOf = (documents: readonly { readonly content: unknown }[]) =>
  documents.map(({ content }) => (content as { text: string }).text)

describeOn(['pglite', 'postgres18', 'redis'], 'documents', (database) => {
  const world = worldOn(database)

  test.each([
    ['kept in memory', {}],
    ['replayed at every wait', { kernel: { framesMax: 0 } }],
  ])('are saved once, checked once, and the same at every pass (%s)', async (_, more) => {
    const schema = shouting()
    const Loud = document('Loud', schema)
    const seen: string[] = []
    const writing = workflow(fresh('writing'), { signals: { go: typed<string>() } }, async (wf) => {
      const first = await wf.documents.save(Loud, { text: 'one' })
      for (const text of ['two', 'three']) {
        await wf.waitFor('go')
        await wf.documents.save(Loud, { text })
      }
      const found = await wf.documents.find(Loud)
      const every = await wf.documents.all(Loud)
      await wf.waitFor('go')
      seen.push(JSON.stringify([first, found, every]))
      await wf.waitFor('go')
      seen.push(JSON.stringify([first, found, every]))
      return { first, every, found }
    })
    const engine = await world.open([writing], more)
    const run = await engine.start(writing)
    for (const count of [1, 2, 3]) {
      await eventually(async () => (await engine.documents(run.id)).length).toBe(count)
      await run.signal('go', 'on')
    }
    await run.signal('go', 'on')
    const { first, found, every } = await run.result()
    expect(textsOf(every)).toEqual(['ONE', 'TWO', 'THREE'])
    expect(schema.asked).toBe(3)
    // What the code was told is what is stored.
    const stored = await engine.documents(run.id, Loud)
    expect(stored).toEqual(every)
    expect(stored[0]).toEqual(first)
    expect(found).toEqual(stored[2])
    expect(stored.map(({ step, attempt, className }) => [step, attempt, className])).toEqual([
      ['document:Loud', 1, 'Loud'],
      ['document:Loud#2', 1, 'Loud'],
      ['document:Loud#3', 1, 'Loud'],
    ])
    expect(new Set(stored.map(({ id }) => id)).size).toBe(3)
    expect(new Set(seen).size).toBe(1)
    const kinds = await kindsOf(engine, run.id)
    expect(kinds.filter((kind) => kind === 'step.completed')).toHaveLength(5)
  })

  test('of a key replace each other and keep their place; hidden ones are for the run', async () => {
    const keyed = workflow(fresh('keyed'), async (wf) => {
      await wf.documents.save(Note, { text: 'draft 1' }, { key: 'draft', tags: ['draft'] })
      await wf.documents.save(Note, { text: 'said' })
      await wf.documents.save('Secret', { text: 'hidden' }, { hidden: true, tags: ['draft'] })
      await wf.documents.save(Note, { text: 'draft 2' }, { key: 'draft', tags: ['draft'] })
      await wf.documents.save(MessageDocument, { role: 'user', content: 'hello' })
      return {
        all: await wf.documents.all(),
        notes: textsOf(await wf.documents.all(Note)),
        tagged: textsOf(await wf.documents.all(undefined, { tag: 'draft' })),
        draft: await wf.documents.find(Note, 'draft'),
        none: await wf.documents.find(Note, 'other'),
        last: (await wf.documents.find(Note))?.content.text,
      }
    })
    const engine = await world.open([keyed], { kernel: { framesMax: 0 } })
    const outcome = await engine.run(keyed)
    if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome))
    const { output } = outcome
    expect(output.notes).toEqual(['draft 2', 'said'])
    expect(output.tagged).toEqual(['draft 2', 'hidden'])
    expect(output.draft?.content.text).toBe('draft 2')
    expect(output.none).toBeNull()
    expect(output.last).toBe('said')
    expect(output.all.map(({ className }) => className)).toEqual([
      'Note',
      'Note',
      'Secret',
      'MessageDocument',
    ])
    const shown = output.all.filter(({ className }) => className !== 'Secret')
    expect(await engine.documents(outcome.id)).toEqual(shown)
    expect(outcome.documents).toEqual(shown)
    expect(textsOf(await engine.documents(outcome.id, Note))).toEqual(['draft 2', 'said'])
    expect(await engine.documents(outcome.id, 'Other')).toEqual([])
    expect(await engine.documents(outcome.id, 'Secret')).toEqual([])
    expect(await refusalOf(engine.documents('nobody'))).toMatchObject({ code: 'RUN_NOT_FOUND' })
    const elsewhere = engine.workspace('elsewhere')
    expect(await refusalOf(elsewhere.documents(outcome.id))).toMatchObject({
      code: 'RUN_NOT_FOUND',
    })
  })

  test('that do not fit are refused by the step, with their name and the path', async () => {
    const Loud = document('Loud', shouting())
    const wrong = workflow(fresh('wrong'), async (wf, how: string) => {
      await wf.documents.save(Loud, { text: 'fine' })
      if (how === 'schema') await wf.documents.save(Loud, { text: 5 } as never)
      if (how === 'value') await wf.documents.save('Any', { a: { b: () => {} } })
      try {
        void wf.documents.save(Loud, { text: 'x' }, { kee: 'k' } as never)
      } catch (error) {
        return (error as { code: string }).code
      }
    })
    const engine = await world.open([wrong])
    const refused = await engine.run(wrong, 'schema')
    expect(refused).toMatchObject({
      status: 'failed',
      error: {
        code: 'PAYLOAD_INVALID',
        message: 'The content of document "Loud" does not fit its schema: text: must be a text.',
      },
    })
    expect(textsOf(refused.documents)).toEqual(['FINE'])
    expect((await engine.get(refused.id))?.error).toMatchObject({ step: 'document:Loud#2' })
    expect(await engine.run(wrong, 'value')).toMatchObject({
      status: 'failed',
      error: {
        code: 'VALUE_UNSTORABLE',
        message: 'Cannot store the content of document "Any": .a.b is a function.',
      },
    })
    // What is wrong with the call itself is thrown there, and no step.
    expect(await engine.run(wrong, 'options')).toMatchObject({ output: 'OPTION_UNKNOWN' })
  })

  test('in a step function are refused like every verb', async () => {
    const nested = workflow(fresh('nested'), async (wf) =>
      wf.do('outer', async () => {
        await wf.documents.save(Note, { text: 'inside' })
      }),
    )
    const engine = await world.open([nested])
    const outcome = await engine.run(nested)
    expect(outcome).toMatchObject({
      status: 'failed',
      error: {
        code: 'STEP_NESTED',
        message: 'wf.documents.save("Note") was called inside the function of a step.',
      },
      documents: [],
    })
  })

  test('of scopes and loops stay, under names with their path', async () => {
    const scoped = workflow(fresh('scoped'), async (wf) => {
      await wf
        .scope('part', async (inner) => {
          await inner.documents.save(Note, { text: 'in the scope' })
          throw new Error('undone')
        })
        .catch(() => {})
      return wf.loop('rounds', 0, async (round, count) => {
        await round.documents.save(Note, { text: `round ${count}` })
        const history = textsOf(await round.documents.all(Note))
        return count === 2 ? round.done(history) : count + 1
      })
    })
    const engine = await world.open([scoped], { kernel: { framesMax: 0 } })
    const outcome = await engine.run(scoped)
    const texts = ['in the scope', 'round 0', 'round 1', 'round 2']
    expect(outcome).toMatchObject({ status: 'completed', output: texts })
    expect(textsOf(outcome.documents)).toEqual(texts)
    expect(outcome.documents.map(({ step }) => step)).toEqual([
      'part/document:Note',
      'rounds@1/document:Note',
      'rounds@2/document:Note',
      'rounds@3/document:Note',
    ])
  })

  test('of a stateless run come with its outcome, and nowhere else', async () => {
    const stateless = workflow(
      fresh('stateless'),
      { signals: { go: typed<void>() } },
      async (wf, waits: boolean) => {
        await wf.documents.save(Note, { text: 'shown' })
        await wf.documents.save(Note, { text: 'hidden' }, { hidden: true })
        if (waits) await wf.waitFor('go')
        return (await wf.documents.all()).length
      },
    )
    const engine = await world.open([stateless])
    const ended = await engine.run(stateless, false, { stateless: true })
    expect(ended).toMatchObject({ status: 'completed', output: 2 })
    expect(textsOf(ended.documents)).toEqual(['shown'])
    const waits = await engine.run(stateless, true, { stateless: true })
    expect(waits.status).toBe('waiting')
    expect(textsOf(waits.documents)).toEqual(['shown'])
    expect(await refusalOf(engine.documents(ended.id))).toMatchObject({ code: 'RUN_NOT_FOUND' })
  })

  test('a fork goes on with the documents of its point', async () => {
    const forked = workflow(fresh('forked'), async (wf) => {
      await wf.documents.save(Note, { text: 'one' }, { key: 'k' })
      await wf.do('choose', () => 'left')
      await wf.documents.save(Note, { text: 'two' }, { key: 'k' })
      return textsOf(await wf.documents.all())
    })
    const engine = await world.open([forked])
    const { id, documents } = await engine.run(forked)
    expect(textsOf(documents)).toEqual(['two'])
    const fork = await engine.fork(id, { from: 'choose' })
    expect(await fork.result()).toEqual(['two'])
    const [mine] = await engine.documents(fork.id)
    expect(mine).toMatchObject({ content: { text: 'two' } })
    expect(mine?.id).not.toBe(documents[0]?.id)
    expect(await engine.documents(id)).toEqual(documents)
  })

  test('a database that is away while they are read is waited for', async () => {
    let failures = 2
    const reading = workflow(fresh('reading'), async (wf) => {
      await wf.documents.save(Note, { text: 'there' })
      return textsOf(await wf.documents.all())
    })
    const engine = await world.open([reading], {
      store: (opened) => {
        const { store } = opened
        const documents: typeof store.read.documents = async (uid) => {
          failures -= 1
          if (failures >= 0) throw new StoreUnavailable('away')
          return store.read.documents(uid)
        }
        return { ...opened, store: instead(store, { read: instead(store.read, { documents }) }) }
      },
    })
    const run = await engine.start(reading)
    expect(await run.result()).toEqual(['there'])
    expect(failures).toBeLessThan(0)
  })

  describe('checkpoints', () => {
    test('[E03] are told with their place, state and the documents that were visible then', async () => {
      const plain = workflow(fresh('plain'), async () => 1)
      const opens: Store[] = []
      const engine = await world.open([plain], {
        options: { worker: false },
        store: (opened) => {
          opens.push(opened.store)
          return opened
        },
      })
      const [store] = opens
      if (!store) throw new Error('no store')
      const by = worker({ leaseMs: 600_000 })
      // Else whoever looks for dead workers gives its run away.
      await store.join(by)
      const run = await ownedRun(store, by, { definition: 'unknown', id: fresh('run') as RunId })
      const [a, b, a2] = [newDocument({ key: 'a' }), newDocument(), newDocument({ key: 'a' })]
      const moves = [
        ['draft', [a]],
        ['review', [b]],
        ['done', [a2]],
      ] as const
      for (const [i, [place, documents]] of moves.entries()) {
        const payload = encode({ place, state: { visits: i }, more: 1 }, 'a test')
        const moved = entry({ meta: { checkpoint: i + 1 }, payload })
        const written = documents.map((document) => ({ document, entry: 1 }))
        const fence = fenceOf(run, by, 1, i + 1)
        await commit(store, by, turn(fence, { entries: [moved], documents: written }))
      }
      const at = new Date(entry().at)
      const told = [
        { version: 1, seq: 2, place: 'draft', state: { visits: 0 }, documentIds: [a.id], at },
        {
          version: 2,
          seq: 3,
          place: 'review',
          state: { visits: 1 },
          documentIds: [a.id, b.id],
          at,
        },
        { version: 3, seq: 4, place: 'done', state: { visits: 2 }, documentIds: [a2.id, b.id], at },
      ]
      expect(await all(engine.checkpoints(run.id))).toEqual(told)
      const page = await engine.checkpoints(run.id, { limit: 2 })
      expect(page).toEqual({ items: told.slice(0, 2), next: '3' })
      expect((await engine.checkpoints(run.id, { order: 'newest', limit: 1 })).items).toEqual(
        told.slice(2),
      )
      expect(await all(engine.checkpoints(run.id, { limit: 1 }))).toEqual(told)
      expect(await refusalOf(engine.checkpoints('nobody'))).toMatchObject({
        code: 'RUN_NOT_FOUND',
      })
    })
  })
})
