import { expect, test } from 'vitest'
import { MUTANTS, NOT_HERE, notice } from './mutants.js'

const SEEDS_MAX = 2_000

test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
  '%s is noticed',
  { timeout: 600_000 },
  async (name, mutant) => {
    const noticed = await notice(mutant, 1, SEEDS_MAX)
    expect(noticed, `${name} was not noticed in ${SEEDS_MAX} seeds`).not.toBeNull()
    const { seeds = 0, failure = '' } = noticed ?? {}
    console.info(`${name}: noticed after ${seeds} seeds: ${failure.split('\n')[0]?.slice(0, 90)}`)
  },
)

test('of the 24 canaries of the bar each is one of the defects, or cannot be made here', () => {
  const canaries = MUTANTS.flatMap(({ canary }) => canary ?? [])
  expect(new Set(canaries).size).toBe(canaries.length)
  expect(canaries.length + Object.keys(NOT_HERE).length).toBe(24)
  expect(canaries.length).toBeGreaterThanOrEqual(20)
})
