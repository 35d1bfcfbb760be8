// Calls from outside that come at the wrong moment: a cancel beside a commit, a signal beside its timeout, two clicks.

import { setTimeout as sleep } from 'node:timers/promises'
import { openProxy } from '../proxy.mjs'
import { crew, dismissed, unended } from './load.mjs'
import { executedOnce, heardOnce, oneClick, oneOrTheOther } from './looks.mjs'

const AT_ONCE = 50

/** Runs of these kinds in portions, by two processes; the second drives the same ones if `isShared`. */
async function portions(ground, count, { kinds, isShared = false, lateMs = 0, more, perWorld }) {
  const options = { perWorld, leaseMs: 30_000, more }
  return ground.worlds(count, options, async (world, share, outcome) => {
    const proxy = await openProxy(ground.url)
    try {
      if (lateMs > 0) proxy.late(() => ground.between(0, lateMs))
      const victims = await crew(world, 2, { database: proxy.url, concurrency: 40 })
      for (let done = 0; done < share && ground.goesOn(outcome, count); ) {
        const size = Math.min(AT_ONCE, share - done)
        const runs = world.newRuns(
          ...Array.from({ length: size }, (_, i) => kinds[i % kinds.length]),
        )
        for (const [i, victim] of victims.entries())
          victim.tell({ runs: isShared ? runs : runs.filter((_, at) => at % 2 === i) })
        outcome.broken.push(...(await unended(victims, runs)))
        done += size
        outcome.did(size)
        await sleep(5)
      }
      await dismissed(victims, outcome)
    } finally {
      await proxy.close()
    }
  })
}

const counted = (outcome, name, rows) => outcome.note({ [name]: rows.length })

export const cancels = {
  id: 'f27',
  title: 'A run is cancelled while it commits, on its last step or any other',
  ...{ unit: 'cancels', count: 200, short: 0, seconds: 40 },
  checked:
    'as F1; completed or cancelled, never both; its child agrees; no timer and no wait is left',
  tests: [['test/simulation/worlds.test.ts', 'random worlds keep every promise']],
  run: (ground, count) =>
    portions(ground, count, {
      ...{ kinds: ['crossed'], perWorld: 100, lateMs: 15 },
      more: (snapshot, _world, outcome) => {
        const own = snapshot.runs.filter(({ def }) => def === 'crossed')
        for (const status of ['completed', 'cancelled'])
          counted(
            outcome,
            status,
            own.filter((run) => run.status === status),
          )
        return oneOrTheOther(snapshot)
      },
    }),
}

export const tightSignals = {
  id: 'f28',
  title: 'A signal comes within 5 ms of the timeout of its wait',
  ...{ unit: 'signals', count: 500, short: 0, seconds: 40 },
  checked: 'as F1; one of the two wins; a signal that came too late is kept for the next wait',
  tests: [['test/simulation/worlds.test.ts', 'random worlds keep every promise']],
  run: (ground, count) =>
    portions(ground, count, {
      ...{ kinds: ['tight'], perWorld: 250 },
      more: (snapshot, _world, outcome) => {
        const late = snapshot.journal.filter(({ kind }) => kind === 'wait.withdrawn')
        counted(outcome, 'timeouts that won', late)
        return heardOnce(snapshot)
      },
    }),
}

export const clicks = {
  id: 'f29',
  title:
    'A failed run is retried by eight clicks at once, from two processes; a run that retries itself is clicked',
  ...{ unit: 'runs clicked', count: 1_000, short: 8, seconds: 90 },
  checked:
    'as F1; one click is taken, one new attempt; the others hear ATTEMPT_CHANGED or RUN_NOT_RETRYABLE',
  run: (ground, count) =>
    portions(ground, count, {
      ...{ kinds: ['clicked', 'clicked', 'impatient'], isShared: true, perWorld: 250 },
      more: (snapshot, world) => [
        ...oneClick(snapshot, world.said, world.runs),
        ...executedOnce(snapshot),
      ],
    }),
}
