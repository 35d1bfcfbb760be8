import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { migrationSql } from '../../src/store/migrate.js'
import { ROOT } from './repository.js'

test('npm run migrations prints the schema as SQL, and nothing else', () => {
  const printed = execFileSync('node', ['scripts/migrations.mjs', 'orders'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(printed.trim()).toBe(migrationSql('orders').trim())
  expect(printed).toContain('create table orders.runs')
})
