// Races of those who follow, on real connections: what commits late is told late, and nothing is told twice.

import { expect } from 'vitest'
import type { Change } from '../../src/kernel/store.js'
import { claimedStart, commit, entry, fenceOf, ownedRun, start, step, worker } from './builders.js'
import { beginning, changesFrom } from './contract-streams.js'
import { describeOn } from './open-stores.js'
import { onSessions, type Sessions } from './sessions.js'

const seqs = (changes: readonly Change[], id: string) =>
  changes.filter(({ runId }) => runId === id).map((one) => one.entry?.seq)

describeOn(['postgres15', 'postgres18'], 'interleavings of who follows', (database) => {
  const on = (title: string, body: (s: Sessions) => Promise<void>) =>
    onSessions(database, title, body)

  on('[X11] a change that commits late is not lost behind one that commits early', async (s) => {
    const { store } = s
    const by = worker()
    const from = await beginning(store)
    const [slow, fast] = [claimedStart(), claimedStart()]
    const late = await s.begin()
    await late.commit(by, slow)
    await commit(store, by, fast)
    // Committed, and not told before it is known what becomes of the other.
    const page = await store.changes(null, from)
    expect(page?.changes).toEqual([])
    await late.end('commit')
    const { found } = await changesFrom(store, page?.next ?? from, 2)
    expect(found.map(({ runId }) => runId).sort()).toEqual([slow.run.id, fast.run.id].sort())
  })

  on('[X11] what is rolled back holds nobody up and is not told', async (s) => {
    const { store } = s
    const by = worker()
    const from = await beginning(store)
    const never = await s.begin()
    await never.commit(by, claimedStart())
    const { run } = claimedStart()
    await commit(store, by, { kind: 'start', run, claim: false })
    await never.end('rollback')
    expect((await changesFrom(store, from, 1)).found[0]?.runId).toBe(run.id)
  })

  on('[X11] changes of a run keep their order, however old the transaction is', async (s) => {
    const { store } = s
    const by = worker()
    const from = await beginning(store)
    const old = await s.begin()
    await old.client.query('select pg_current_xact_id()')
    // Both are younger than the one that adds to them last.
    const [a, b] = [await ownedRun(store, by), await ownedRun(store, by)]
    await commit(store, by, step(fenceOf(a, by)))
    await old.commit(by, step(fenceOf(a, by, 1, 2)), step(fenceOf(b, by)))
    await old.end('commit')
    await commit(store, by, step(fenceOf(a, by, 1, 3)))
    const { found } = await changesFrom(store, from, 6)
    expect(seqs(found, a.id)).toEqual([1, 2, 3, 4])
    expect(seqs(found, b.id)).toEqual([1, 2])
  })

  on('[X11] who begins waits for those who did not see that somebody follows', async (s) => {
    const { store } = s
    const by = worker()
    const unseen = await s.begin()
    const [before, after] = [claimedStart(), claimedStart()]
    await unseen.commit(by, before)
    expect(await store.follow()).toBeNull()
    await commit(store, by, after)
    expect(await store.follow()).toBeNull()
    await unseen.end('commit')
    const from = await beginning(store)
    // Listed now; whatever was not written down is in it.
    const { workspace } = before.run
    expect(await store.read.get(workspace, before.run.id)).not.toBeNull()
    expect(await store.read.get(workspace, after.run.id)).not.toBeNull()
    const { run } = start()
    await commit(store, by, { kind: 'start', run, claim: false })
    expect((await changesFrom(store, from, 1)).found[0]?.runId).toBe(run.id)
  })

  on('[X11] a transaction with an old snapshot sees that somebody follows', async (s) => {
    const { store } = s
    const old = await s.begin()
    await old.client.query('set transaction isolation level repeatable read')
    await old.client.query('select 1')
    const from = await beginning(store)
    const { run } = start()
    await old.commit(worker(), { kind: 'start', run, claim: false })
    await old.end('commit')
    expect((await changesFrom(store, from, 1)).found[0]?.runId).toBe(run.id)
  })

  on('two that publish to one run at once number it without a gap', async (s) => {
    const { store, sql } = s
    const by = worker()
    const run = await ownedRun(store, by)
    const first = await s.begin()
    const params = [by.id, `{${run.uid}}`, '{1}', '{1}', '{1}', '{t}', '\u001fa', '\u001f"1"']
    await first.client.query(sql.publish, params)
    const own = { uid: run.uid, epoch: 1, step: 'a', attempt: 1, isFirst: false }
    const second = store.publish(by.id, [{ ...own, sent: 2, value: '"2"' }])
    await s.waiting()
    await first.end('commit')
    await second
    const found = await store.chunks(run.uid, 0, 10)
    expect(found.map(({ no, value }) => [no, value])).toEqual([
      [1, '"1"'],
      [2, '"2"'],
    ])
  })

  on('[X11] writers and readers at once: every reader has everything once', async (s) => {
    const { store } = s
    const by = worker()
    const from = await beginning(store)
    const runs = await Promise.all(Array.from({ length: 4 }, () => ownedRun(store, by)))
    const writers = runs.map(async (run) => {
      for (let seq = 1; seq <= 25; seq += 1) {
        await commit(store, by, step(fenceOf(run, by, 1, seq), { entries: [entry()] }))
      }
    })
    const reading = [from, from, from].map((cursor) => changesFrom(store, cursor, 4 * 26))
    await Promise.all(writers)
    for (const { found } of await Promise.all(reading)) {
      const all = Array.from({ length: 26 }, (_, i) => i + 1)
      for (const { id } of runs) expect(seqs(found, id)).toEqual(all)
    }
  })
})
