import { expect, test } from 'vitest'
import type { Defect } from '../../src/kernel/defects.js'
import type { MemoryDefect } from '../../src/store/memory.js'
import { runSeed } from './seed.js'
import type { Switches } from './world.js'

const isFast = process.env.PERDURE_TEST_FAST === '1'
const SEEDS_MAX = 2_000
/** So many times each is looked for, from different seeds on. */
const ROUNDS = isFast ? 1 : 3

const DEFECTS: Readonly<Record<Defect, true>> = {
  'start-before-durable': true,
  'seen-is-the-counter': true,
  'end-ignores-stop': true,
  'frame-without-seq': true,
  'early-timer': true,
  'forget-children': true,
  'event-before-commit': true,
  'no-adoption': true,
  'ack-before-commit': true,
  'assume-committed': true,
  'start-while-replaying': true,
  'no-poll': true,
  'taken-not-marked': true,
  'ignore-stale': true,
  'undo-oldest-first': true,
  'scope-without-withdraw': true,
  'round-not-forgotten': true,
  'undo-before-children': true,
  'loser-not-undone': true,
  'undo-open-not-stored': true,
}
const MEMORY_DEFECTS: Readonly<Record<MemoryDefect, true>> = {
  'fence-without-epoch': true,
  'fence-without-seq': true,
  'park-ignores-inbox': true,
  'message-ids-forgotten': true,
  'terminal-overwrite': true,
  'early-accepted': true,
  'crashes-not-counted': true,
}

/** These are noticed only where there are scopes. */
const SCOPED = /^(undo|scope|round|loser)-/

const switches: readonly (readonly [string, Switches])[] = [
  ...(Object.keys(DEFECTS) as Defect[]).map(
    (defect) => [defect, { defects: new Set([defect]), scopes: SCOPED.test(defect) }] as const,
  ),
  ...(Object.keys(MEMORY_DEFECTS) as MemoryDefect[]).map(
    (defect) => [`${defect} (store)`, { memoryDefects: new Set([defect]) }] as const,
  ),
]

test.each(switches)('%s is noticed', { timeout: 600_000 }, async (name, switched) => {
  const needed: number[] = []
  let noticed = ''
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = round * SEEDS_MAX + 1
    let seed = first
    for (; seed < first + SEEDS_MAX; seed += 1) {
      const { failure } = await runSeed(seed, switched)
      // A world that is red without the defect proves nothing.
      const { scopes = true } = switched
      const isProof = failure !== null && (await runSeed(seed, { scopes })).failure === null
      noticed = isProof ? failure : ''
      if (isProof) break
    }
    expect(noticed, `${name} was not noticed in ${SEEDS_MAX} seeds`).not.toBe('')
    needed.push(seed - first + 1)
  }
  needed.sort((a, b) => a - b)
  const median = needed[needed.length >> 1]
  console.info(`${name}: noticed after ${median} seeds: ${noticed.split('\n')[0]?.slice(0, 90)}`)
})
