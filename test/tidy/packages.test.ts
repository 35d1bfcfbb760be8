import { expect, test } from 'vitest'
import { accepts } from './engines.js'
import { read } from './repository.js'

interface Locked {
  readonly resolved?: string
  readonly engines?: { readonly node?: string }
}
const NODE_MIN = '20.19.0'
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> }

test('package-lock.json names no registry', () => {
  const found = Object.entries(packages)
    .filter(([, { resolved }]) => resolved?.includes('://'))
    .map(
      ([path]) =>
        `package-lock.json: ${path} has an address → npm install with the .npmrc of this repository`,
    )
  expect(found).toEqual([])
})

test(`every dependency accepts Node ${NODE_MIN}`, () => {
  const found = Object.entries(packages)
    .filter(([, { engines }]) => engines?.node && !accepts(engines.node, NODE_MIN))
    .map(
      ([path, { engines }]) =>
        `package-lock.json: ${path} wants Node ${engines?.node} → pin an older version`,
    )
  expect(found).toEqual([])
})

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
