// Runs a scenario again and again, with a crash beside each of its commits in turn.

import type { CommitPlan, Commits } from './commits.js'
import { commitsOfEngine } from './create-test-engine.js'
import { notATestEngine, outcomeChanged } from './errors.js'
import { differenceOf, timed } from './outcome.js'
import type { TestEngine } from './types.js'

type Scenario<E, O> = (engine: E) => Promise<O>

/** Runs the scenario once per commit, crashing before it and after it; throws if the outcome differs. */
export async function crashEverywhere<E extends TestEngine, O>(
  open: () => Promise<E>,
  scenario: Scenario<E, O>,
): Promise<{ readonly commits: number; readonly output: O }> {
  const plain = await timed(() =>
    withEngine(open, null, async (engine, commits) => {
      const output = await scenario(engine)
      return { output, commits: commits.count }
    }),
  )
  const { output, commits } = plain.output
  for (let number = 1; number <= commits; number += 1) {
    for (const end of ['before', 'after'] as const) {
      let reached = 'not reached'
      const plan: CommitPlan = ({ about }, count) => {
        if (count !== number) return null
        reached = about()
        return { end }
      }
      await withEngine(open, plan, async (engine) => {
        const difference = await differenceOf(() => scenario(engine), output, plain)
        if (!difference) return
        throw outcomeChanged(`${end} commit ${number} of ${commits} (${reached})`, difference)
      })
    }
  }
  return { commits, output }
}

async function withEngine<E extends TestEngine, R>(
  open: () => Promise<E>,
  plan: CommitPlan | null,
  work: (engine: E, commits: Commits) => Promise<R>,
): Promise<R> {
  const engine = await open()
  const commits = commitsOfEngine(engine)
  if (!commits) throw notATestEngine(engine)
  let result: R
  try {
    commits.watch(plan)
    result = await work(engine, commits)
  } catch (error) {
    // What went wrong first is told.
    await engine.close().catch(() => {})
    throw error
  }
  await engine.close()
  return result
}
