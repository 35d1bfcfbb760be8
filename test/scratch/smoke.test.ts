import { readFileSync } from 'node:fs'
import { test } from 'vitest'
import { openPgDriver } from '/work/wt-store/src/store/driver-pg/driver.js'
import { openSqlStore } from '/work/wt-store/src/store/sql-store.js'
import * as b from '/work/wt-store/test/contract/builders.js'

for (const v of [15, 18])
  test('smoke ' + v, async () => {
    const driver = await openPgDriver({ target: readFileSync('/tmp/url' + v, 'utf8') })
    const store = await openSqlStore({ driver, schema: 's_' + Math.random().toString(36).slice(2) })
    const w = b.worker()
    console.log(await store.join(w))
    const run = b.newRun()
    const r2 = b.start()
    console.log(
      JSON.stringify(
        await store.commit(
          w,
          [{ kind: 'start', run, claim: true }, r2, b.signal(run), b.signal(r2.run, {}, true)],
          { resent: false, feed: true },
        ),
      ),
    )
    console.log(JSON.stringify(await store.beat(w)))
    console.log(
      JSON.stringify(await store.load([{ fence: b.fenceOf(run, w), fromSeq: 0, fromNo: 0 }])),
    )
    console.log(
      JSON.stringify(
        await store.commit(w, [b.parked(b.fenceOf(run, w))], { resent: false, feed: true }),
      ),
    )
    console.log(JSON.stringify(await store.claim(w, 10, 1)))
    console.log(JSON.stringify(await store.read.get('default', run.id)))
    console.log(JSON.stringify(await store.reap([])))
    await store.leave(w)
    await store.close()
  })
