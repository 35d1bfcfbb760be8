// Every line of code in the README runs, and what it says it prints is what is printed.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pc from 'picocolors'
import { expect, onTestFinished, test } from 'vitest'
import { lastEngine, pass, sql } from './perdure.js'
import { blocksOf, programsOf, readPage, run } from './programs.js'

const DAY_MS = 24 * 60 * 60 * 1000
const [first, quickStart, review, ...others] = programsOf('README.md')

interface Shop {
  readonly calls: string[]
}

/** The other file of the first program: a payment provider that is down once. */
const SHOP = `
export const calls = []
globalThis.docsShop = { calls }
export const validate = (order) => calls.push('validate ' + order.id)
export async function charge(order, { idempotencyKey }) {
  calls.push('charge ' + order.amount + ' ' + idempotencyKey.split('/').slice(1).join('/'))
  if (calls.length === 2) throw new Error('card network down')
  return { id: 'pay-1' }
}
export const refund = (payment) => calls.push('refund ' + payment.id)
`

test('the first program runs to its end, two days and a failed charge later', async () => {
  if (!first) throw new Error('README.md has no program')
  const shop = join(dirname(first.file), 'shop.js')
  mkdirSync(dirname(shop), { recursive: true })
  writeFileSync(shop, SHOP)
  await run(first, 'create table if not exists shipments (order_id text, payment text)')
  const engine = lastEngine()
  const { calls } = (globalThis as unknown as { docsShop: Shop }).docsShop

  await expect
    .poll(async () => await engine.get('o-1'), { timeout: 30_000 })
    .toMatchObject({ status: 'waiting', reason: 'timer' })
  expect(calls).toEqual(['validate o-1', 'charge 100 1/charge', 'charge 100 1/charge'])

  await pass(engine, 2 * DAY_MS)
  const { output } = await engine.run('order', { id: 'o-1', amount: 100 }, { id: 'o-1' })
  expect(output).toEqual({ id: 'pay-1' })
  const { output: rows } = await engine.run(sql, 'select * from shipments')
  expect(rows).toMatchObject({ rows: [{ order_id: 'o-1', payment: 'pay-1' }] })
})

test('the quick start prints what it says', async () => {
  if (!quickStart) throw new Error('README.md has no quick start')
  const { claimed, printed } = await run(quickStart)
  expect(printed).toEqual(claimed)
})

test('the machine prints what it says', async () => {
  if (!review) throw new Error('README.md has no machine')
  const { claimed, printed } = await run(review)
  expect(printed).toEqual(claimed)
})

test('there is no other code in it', () => {
  expect(others).toEqual([])
  const text = readPage('README.md')
  expect(blocksOf(text, 'js')).toEqual([])
  const [commands = { code: '' }] = blocksOf(text, 'sh')
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> }
  for (const line of commands.code.trim().split('\n')) {
    const script = line.match(/^npm (\w+)/)?.[1] ?? ''
    expect(Object.keys(scripts)).toContain(script)
  }
})

test('what npm start is said to print is what the demo prints', async () => {
  const [block] = blocksOf(readPage('README.md'), '')
  const shown = (block?.code ?? '').split('\n').filter((line) => /^ {4}\S/.test(line))
  const lines: string[] = []
  const { makeStory, standing } = await import('../../examples/demo/story.mjs')
  const story = makeStory((line: string) => lines.push(`  ${line}`), pc.createColors(false))
  const at = new Date()
  const until = (seconds: number) => new Date(Date.now() + seconds * 1000)
  const told = (kind: string, name: string, more: object = {}) =>
    story.told({ seq: 1, kind, name, at, attempt: 1, startedAt: at, ...more })
  onTestFinished(() => void lines.splice(0))
  told('step.completed', 'validate')
  const error = { name: 'Error', message: 'card network down' }
  told('step.failed', 'charge', { error, until: new Date(at.getTime() + 2_000) })
  told('step.completed', 'charge', { attempt: 2 })
  told('timer.set', 'cooling-off', { until: until(4) })
  told('timer.set', 'cooling-off', { until: until(2) })
  told('timer.fired', 'cooling-off')
  for (const name of ['pack', 'ship', 'receipt']) told('step.completed', name)
  const plain = (line: string) => line.replace(/\d+ ms/, 'N ms')
  expect(shown.map(plain)).toEqual(lines.map(plain))
  const done = ['validate', 'charge'].map((name) => ({ kind: 'step.completed', name }))
  expect(block?.code).toContain(standing('ord-1042', done))
})
