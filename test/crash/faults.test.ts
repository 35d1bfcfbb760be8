import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, test } from 'vitest'
import { databases, urlOf } from '../support/databases.js'
import { ELSEWHERE, FAULTS, Ground } from './faults/index.mjs'
import { seeded } from './storm.mjs'

const [server] = databases('postgres18', 'postgres15').filter(({ skip }) => skip === null)
const SEED = 20_262

/** F14, F22, F30 to F33 and from F38 on belong to parts of the engine that bring tests of their own. */
const LISTED = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20, 21],
  ...[23, 24, 25, 26, 27, 28, 29, 34, 35, 36, 37],
].map((number) => `f${number}`)

describe.skipIf(!server).concurrent('a short soak', () => {
  const ground = new Ground({
    url: server && server.skip === null ? urlOf(server) : '',
    random: seeded(SEED),
    isShort: true,
  })

  const { isOurs: hasRedis, skip } = inject('redis')
  for (const { id, title, unit, short, needs, run } of FAULTS.filter((fault) => fault.short > 0)) {
    const why = needs === 'redis' && !hasRedis ? `: ${skip ?? 'it must be ours'}` : ''
    test.skipIf(why !== '')(
      `breaks no promise: ${title} (${id.toUpperCase()}, ${short} ${unit})${why}`,
      async () => {
        const { done, broken } = await run(ground, short)
        expect(broken).toEqual([])
        expect(done).toBeGreaterThanOrEqual(short)
      },
    )
  }
})

describe('the list of faults', () => {
  test('has all of them, each once', () => {
    const ids = [...FAULTS, ...ELSEWHERE].map(({ id }) => id)
    expect(ids.sort()).toEqual([...LISTED].sort())
  })

  test('names a test for each that npm test does not do by itself, and the test is there', () => {
    const others = [...FAULTS.filter(({ short }) => short === 0), ...ELSEWHERE]
    expect(others.filter(({ tests }) => !tests?.length).map(({ id }) => id)).toEqual([])
    const missing = [...FAULTS, ...ELSEWHERE].flatMap(({ tests = [] }) =>
      tests.filter(([file, title]) => !textOf(file).includes(title)),
    )
    expect(missing).toEqual([])
  })
})

function textOf(file: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8')
}
