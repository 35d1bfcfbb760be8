// Runs a scenario again and again, with a crash beside each of its commits in turn.

import { setTimeout as sleep } from 'node:timers/promises'
import { inspect, isDeepStrictEqual } from 'node:util'
import type { CommitPoint, Commits } from './commits.js'
import { commitsOfEngine } from './create-test-engine.js'
import { notATestEngine, outcomeChanged } from './errors.js'
import type { TestEngine } from './types.js'

/** How much longer than without a crash, and at least how long, a scenario may take until it counts as hanging. */
const TIMES_LONGER = 20
const LONG_MS = 5_000

type Scenario<E, O> = (engine: E) => Promise<O>

/** Runs the scenario once per commit, crashing before it and after it; throws if the outcome differs. */
export async function crashEverywhere<E extends TestEngine, O>(
  open: () => Promise<E>,
  scenario: Scenario<E, O>,
): Promise<{ readonly commits: number; readonly output: O }> {
  const startedAt = performance.now()
  const plain = await withEngine(open, null, async (engine, commits) => {
    const output = await scenario(engine)
    return { output, commits: commits.count }
  })
  const limitMs = Math.max(LONG_MS, TIMES_LONGER * (performance.now() - startedAt))
  for (let number = 1; number <= plain.commits; number += 1) {
    for (const when of ['before', 'after'] as const) {
      await withEngine(open, { number, when }, async (engine, commits) => {
        const where = (): string =>
          `${when} commit ${number} of ${plain.commits} (${commits.reached ?? 'not reached'})`
        await compared(() => scenario(engine), plain.output, { where, limitMs })
      })
    }
  }
  return plain
}

async function withEngine<E extends TestEngine, R>(
  open: () => Promise<E>,
  point: CommitPoint | null,
  work: (engine: E, commits: Commits) => Promise<R>,
): Promise<R> {
  const engine = await open()
  const commits = commitsOfEngine(engine)
  if (!commits) throw notATestEngine(engine)
  let result: R
  try {
    commits.watch(point)
    result = await work(engine, commits)
  } catch (error) {
    // What went wrong first is told.
    await engine.close().catch(() => {})
    throw error
  }
  await engine.close()
  return result
}

async function compared<O>(
  scenario: () => Promise<O>,
  expected: O,
  { where, limitMs }: { readonly where: () => string; readonly limitMs: number },
): Promise<void> {
  const off = new AbortController()
  const late = sleep(limitMs, null, { signal: off.signal }).catch(() => null)
  let found: O | typeof LATE
  try {
    found = await Promise.race([scenario(), late.then((): typeof LATE => LATE)])
  } catch (error) {
    throw outcomeChanged(where(), shown(expected), `it throws ${shown(error)}`, error)
  } finally {
    off.abort()
  }
  if (found === LATE) {
    const what = `it has not ended after ${Math.round(limitMs)} ms`
    throw outcomeChanged(where(), shown(expected), what, undefined)
  }
  if (!isDeepStrictEqual(found, expected)) {
    throw outcomeChanged(where(), shown(expected), shown(found), undefined)
  }
}

const LATE: unique symbol = Symbol('late')

function shown(value: unknown): string {
  const text =
    value instanceof Error
      ? `${value.name}: ${value.message}`
      : inspect(value, { breakLength: 200 })
  return text.length > 300 ? `${text.slice(0, 297)}…` : text
}
