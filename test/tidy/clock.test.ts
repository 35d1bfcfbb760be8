import { expect, test } from 'vitest'
import { filesBelow, read } from './repository.js'

const CLOCKS =
  /\b(clock_timestamp|statement_timestamp|transaction_timestamp|now|timeofday)\s*\(|\bcurrent_timestamp\b/gi

test('SQL of the engine asks only clock_v1 for the time, so that tests can move it', () => {
  const found = filesBelow('sql', '.sql').flatMap((path) =>
    read(path)
      .split('\n')
      .map((line) => line.replace(/--.*/, ''))
      .filter((line) => line.match(CLOCKS))
      .map((line) => `${path}: ${line.trim()}`),
  )
  expect(found).toEqual([
    "sql/migrations/0001_tables.sql: select date_trunc('milliseconds', clock_timestamp())",
  ])
})
