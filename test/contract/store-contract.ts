// The contract of the store port: every sentence of its comments, for every store. What only real connections can
// show (locks, snapshots, lost answers) is in interleavings.test.ts.

import { describe, test } from 'vitest'
import type { ToolStore } from '../../src/kernel/store.js'
import { answerContract } from './contract-answers.js'
import { batchContract } from './contract-batches.js'
import { broughtContract } from './contract-brought.js'
import { definitionContract } from './contract-definitions.js'
import { documentContract } from './contract-documents.js'
import { eventContract } from './contract-events.js'
import { foldedContract } from './contract-folded.js'
import { forkContract } from './contract-forks.js'
import { insightContract } from './contract-insight.js'
import { limitContract } from './contract-limits.js'
import { loadingContract } from './contract-loading.js'
import { mailContract } from './contract-mail.js'
import { movingContract } from './contract-moving.js'
import { operatingContract } from './contract-operating.js'
import { ownershipContract } from './contract-ownership.js'
import { plainContract } from './contract-plain.js'
import { reactedContract } from './contract-reacted.js'
import { readingContract } from './contract-reading.js'
import { reopenContract } from './contract-reopen.js'
import { scheduleContract } from './contract-schedules.js'
import { startContract } from './contract-starts.js'
import { streamContract } from './contract-streams.js'
import { takingContract } from './contract-taking.js'
import { transactionContract } from './contract-transactions.js'
import { turnContract } from './contract-turns.js'
import { webhookContract } from './contract-webhooks.js'

export interface StoreUnderTest {
  readonly store: ToolStore
  /** Moves the database's clock. */
  advance(ms: number): Promise<void>
  close(): Promise<void>
}

export interface OpenOptions {
  /** Untaken messages of one run; the product has 10,000. */
  readonly mailboxMax?: number
}

/** Of a case: what not every store has. */
export const TRANSACTIONAL = { needs: 'transactions' } as const

/** What a store has beside what all have. */
export type Capability = (typeof TRANSACTIONAL)['needs']

export type OpenStore = (options?: OpenOptions) => Promise<StoreUnderTest>

/** One test with an empty store of its own. */
export type Case = (
  title: string,
  body: (s: StoreUnderTest) => Promise<void>,
  options?: OpenOptions & { readonly needs?: Capability },
) => void

export function storeContract(
  name: string,
  open: OpenStore,
  has: readonly Capability[] = ['transactions'],
): void {
  const on: Case = (title, body, { needs, ...options } = {}) => {
    if (needs && !has.includes(needs)) {
      test.skip(`${title} (${name} has no ${needs})`, () => {})
      return
    }
    test(title, async () => {
      const s = await open(options)
      try {
        await body(s)
      } finally {
        await s.close()
      }
    })
  }
  describe(`Store contract: ${name}`, () => {
    describe('start', () => startContract(on))
    describe('turn', () => turnContract(on))
    describe('a turn that only adds entries', () => plainContract(on))
    describe('a turn that brings its own messages', () => broughtContract(on))
    describe('what is kept as one', () => foldedContract(on))
    describe('a batch of nothing else', () => reactedContract(on))
    describe('documents, and what is shown', () => documentContract(on))
    describe('message', () => mailContract(on))
    describe('two deltas about one run in one batch', () => batchContract(on))
    describe('ownership', () => ownershipContract(on))
    describe('load', () => loadingContract(on))
    describe('limits', () => limitContract(on))
    describe('slots with the run', () => takingContract(on))
    describe('reopen', () => reopenContract(on))
    describe('a message that is answered later', () => answerContract(on))
    describe('operating', () => operatingContract(on))
    describe('events and calls', () => eventContract(on))
    describe('schedules', () => scheduleContract(on))
    describe('stored definitions', () => definitionContract(on))
    describe('webhooks', () => webhookContract(on))
    describe('what is published, and what has changed', () => streamContract(on))
    describe('fork and retention', () => forkContract(on))
    describe('moving', () => movingContract(on))
    describe('reading', () => readingContract(on))
    describe('insight', () => insightContract(on))
    describe('a step with its own transaction', () => transactionContract(on))
  })
}
