import { expect, test } from 'vitest'
import { filesBelow, read, sourcesBelow } from './repository.js'
import * as rules from './rules.js'

const src = sourcesBelow('src')
const scripts = [...filesBelow('scripts', '.mjs'), ...filesBelow('bench', '.mjs')].map((path) => ({
  path,
  text: read(path),
}))
const studio = [...filesBelow('studio/src', '.ts'), ...filesBelow('studio/src', '.tsx')].map(
  (path) => ({ path, text: read(path) }),
)
const all = [...src, ...sourcesBelow('test'), ...scripts]
const examples = ['.ts', '.mjs'].flatMap((end) =>
  filesBelow('examples', end).map((path) => ({ path, text: read(path) })),
)

test('every folder of src imports only what its layer may', () => {
  expect(rules.layers(src)).toEqual([])
})

test('ARCHITECTURE.md has every folder of src, with what it imports', () => {
  const rows = [...read('ARCHITECTURE.md').matchAll(/^\| `src\/(\w+)` +\| .+ \| (.*?) *\|$/gm)]
  const told = rows.map(([, room = '', imports = '']) => [room, imports] as const)
  expect(new Map([...told].sort())).toEqual(new Map([...rules.rooms(src)].sort()))
})

test('src has no import cycles', () => {
  expect(rules.cycles(src)).toEqual([])
})

test('what src and the Studio export is imported by somebody', () => {
  expect(rules.unusedExports([...src, ...studio], [...all, ...studio, ...examples])).toEqual([])
})

test('files of src and of the Studio are short enough to read', () => {
  expect(rules.fileLengths([...src, ...studio])).toEqual([])
})

test('functions of src and of the Studio fit on a screen or two', () => {
  expect(rules.functionLengths([...src, ...studio])).toEqual([])
})

test('model, kernel and authoring use no clock, timer, chance or network but the ports', () => {
  expect(rules.impurities(src)).toEqual([])
})

test('one word for one thing', () => {
  expect(rules.bannedWords([...src, ...studio])).toEqual([])
})

test('nothing is of type any', () => {
  expect(rules.anyTypes([...all, ...studio])).toEqual([])
})

test('nothing is marked as unfinished', () => {
  expect(rules.unfinished([...all, ...studio])).toEqual([])
})

test('every test file is in a folder of test/, where vitest looks', () => {
  const stray = filesBelow('.', '.test.ts').filter((path) => !/^test\/[^/]+\//.test(path))
  expect(stray.map((path) => `${path} is never run → move it to test/<folder>/`)).toEqual([])
})
