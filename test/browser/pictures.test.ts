// The pictures of the documents: taken of the real pages by `npm run pictures`, so that they show what is there.

import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { createEngine, type Engine } from '../../src/index.js'
import { databases, freshSchema, urlOf } from '../support/databases.js'
import { filesBelow, ROOT, read } from '../tidy/repository.js'
import { publish } from './rooms.js'
import { describeInBrowser, ready, studioWith } from './studio.js'
import { bank, leads, order, press, refund, review, WORKFLOWS } from './world.js'

const FOLDER = 'docs/pictures'
const BYTES_MAX = 60 * 1024
const NAMES = ['overview', 'run', 'diagram', 'inbox'] as const

const [database] = databases('postgres18')

/** An hour of a small shop. */
async function shop(): Promise<Engine> {
  const schema = freshSchema()
  const url = database ? urlOf(database) : ''
  const workflows = [...WORKFLOWS, publish]
  const engine = (await createEngine({ database: url, schema, workflows })) as unknown as Engine
  bank.isUp = true
  press.isBroken = false
  const inputs = Array.from({ length: 160 }, (_, n) => ({ input: { id: `r-${n}` } }))
  const paid = await engine.startMany(refund, inputs)
  await Promise.all(paid.map((run) => run.result()))
  bank.isUp = false
  for (const n of [1, 2, 3, 4, 5]) await engine.run(refund, { id: `x-${n}` }, { id: `ref-${n}` })
  for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const input = { id: `l-${n}`, email: `bob@${n % 3 ? 'acme' : 'small'}.example` }
    await engine.run(leads, input, { id: `lead-${n}` })
  }
  const done = await engine.start(order, { id: 'o-1042', amount: 100 }, { id: 'ord-1042' })
  await done.signal('approval', { ok: true, carrier: 'courier' })
  await done.result()
  await engine.start(order, { id: 'o-1043', amount: 80 }, { id: 'ord-1043' })
  await engine.start(publish, { title: 'Bees', words: 900 }, { id: 'pub-7' })
  const draft = await engine.start(review, { topic: 'bees' }, { id: 'rev-7' })
  await vi.waitFor(async () => expect(await draft.get()).toMatchObject({ place: 'reviewing' }))
  await engine.trigger('rev-7', 'reject')
  await vi.waitFor(async () => expect(await draft.get()).toMatchObject({ state: { rounds: 2 } }))
  // They were not all started in one second.
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    `update ${schema}.runs r set created_at = r.created_at - m.by, started_at = r.started_at - m.by,
       finished_at = r.finished_at - m.by, updated_at = r.updated_at - m.by
     from (select uid, (random() * random() * 3500) * interval '1 second' as by from ${schema}.runs
           where def in ('refund', 'lead-routing')) m where m.uid = r.uid`,
  )
  await client.end()
  return engine
}

if (process.env.PERDURE_PICTURES === '1') {
  describeInBrowser('the pictures of the documents', () => {
    const studio = studioWith(shop)

    test('are taken', async () => {
      const viewport = { width: 960, height: 540 }
      const { page, problems } = await studio.open('/', { viewport, reducedMotion: 'reduce' })
      mkdirSync(join(ROOT, FOLDER), { recursive: true })
      const shoot = async (
        name: (typeof NAMES)[number],
        path: string,
        wait: (page: Page) => Promise<unknown>,
      ) => {
        await page.goto(studio.url + path)
        await ready(page)
        await wait(page)
        // Of the diagram only what is beside the menu: the dots of a canvas take many bytes.
        const shown = name === 'diagram' ? page.locator('main') : page
        const picture = await shown.screenshot({ animations: 'disabled' })
        writeFileSync(join(ROOT, FOLDER, `${name}.png`), picture)
      }
      await shoot('overview', '/', () => page.getByText('live', { exact: true }).waitFor())
      await shoot('run', '/runs/ord-1042?sel=charge', () =>
        page.getByText('card network down').first().waitFor(),
      )
      await shoot('diagram', '/runs/rev-7?tab=diagram', () =>
        page.getByText(/^reject · /).waitFor(),
      )
      await shoot('inbox', '/inbox', () => page.getByLabel('Is it good enough?').waitFor())
      expect(problems).toEqual([])
    })
  })
}

test('there is each picture, it is small, and a document shows it', () => {
  const texts = filesBelow('.', '.md').map(read).join('\n')
  for (const name of NAMES) {
    const path = `${FOLDER}/${name}.png`
    expect([path, texts.includes(`pictures/${name}.png)`)]).toEqual([path, true])
    expect([path, statSync(join(ROOT, path)).size < BYTES_MAX]).toEqual([path, true])
  }
  expect(filesBelow(FOLDER, '').length).toBe(NAMES.length)
})
