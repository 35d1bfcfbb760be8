import { expect, test } from 'vitest'
import { runSeed, type Verdict } from './seed.js'

const isFast = process.env.PERDURE_TEST_FAST === '1'
const SEEDS = Number(process.env.SEEDS ?? (isFast ? 200 : 1_000))
const FIRST = Number(process.env.SEED ?? 1)

test(`${SEEDS} random worlds keep every promise`, { timeout: 3_600_000 }, async () => {
  for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
    const verdict = await runSeed(seed)
    if (verdict.failure) expect.fail(report(verdict))
    if (seed % 100 === 0) expect((await runSeed(seed)).hash).toBe(verdict.hash)
  }
})

function report({ seed, options, failure, last }: Verdict): string {
  const events = last.slice(-40).join('\n  ')
  return `seed ${seed}\n${JSON.stringify(options)}\n  ${events}\n${failure}\n(SEED=${seed} SEEDS=1 npx vitest run test/simulation)`
}
