import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { accepts } from './engines.js'
import { ROOT, read } from './repository.js'

interface Locked {
  readonly resolved?: string
  readonly engines?: { readonly node?: string }
}
const NODE_MIN = '20.19.0'
const FOLDERS = [
  ...['bench', 'studio', 'site', 'test/support'],
  ...['test/nestjs/majors/10', 'test/nestjs/majors/12', 'test/bullmq/majors/5'],
  ...['test/mounting/next', 'test/docs/compare'],
]
const LOCKS = ['package-lock.json', ...FOLDERS.map((folder) => `${folder}/package-lock.json`)]

test.each(LOCKS)('%s names no registry', (lock) => {
  const found = packagesOf(lock)
    .filter(([, { resolved }]) => resolved?.includes('://'))
    .map(
      ([path]) =>
        `${lock}: ${path} has an address → npm install with the .npmrc of this repository`,
    )
  expect(found).toEqual([])
})

test.each(LOCKS)(`every dependency in %s accepts Node ${NODE_MIN}`, (lock) => {
  const found = packagesOf(lock)
    .filter(([, { engines }]) => engines?.node && !accepts(engines.node, NODE_MIN))
    .map(
      ([path, { engines }]) =>
        `${lock}: ${path} wants Node ${engines?.node} → pin an older version`,
    )
  expect(found).toEqual([])
})

test.each(FOLDERS)('the .npmrc of %s says the same', (folder) => {
  expect(read(`${folder}/.npmrc`)).toBe(read('.npmrc'))
})

test('installing packages says in one line of what, also where npm ci refuses the lock', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-install-'))
  try {
    writeFileSync(join(folder, 'npm'), '#!/bin/sh\ntest "$1" = install\n', { mode: 0o755 })
    const code = `const { install } = await import('./scripts/bootstrap.mjs')
      await install(${JSON.stringify(folder)})`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` },
    })
    const said = `installing packages of ${relative(ROOT, folder)} … 0 s\n`
    expect({ status, stderr: stderr.replace(/\d+ s/, '0 s') }).toEqual({ status: 0, stderr: said })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

function packagesOf(lock: string): [string, Locked][] {
  return Object.entries((JSON.parse(read(lock)) as { packages: Record<string, Locked> }).packages)
}

test.each([
  ['>=18', true],
  ['>= 20.19.0', true],
  ['>=20.19.1', false],
  ['^20.19.0 || >=22.12.0', true],
  ['^18.17 || ^20.20', false],
  ['>=22', false],
  ['20.x || 22.x', true],
  ['18 || 22', false],
  ['20', true],
  ['*', true],
  ['>=14 <20', false],
  ['>=14 <=20', true],
  ['>20', false],
  ['~20.19', true],
  ['~20.18.1', false],
])('engines %s accepts it: %s', (range, expected) => {
  expect(accepts(range, NODE_MIN)).toBe(expected)
})
