// npm run conformance [-- --json]
//
// Every id of test/conformance/ids.txt with its tests and their outcome. Fails on a failed test, on an id of
// due.txt without a passing test, and on an id in a title that is not in the list.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootstrap, failWith, ROOT } from './bootstrap.mjs'
import { LAST_REPORT, runVitest, testedHash, testsOf } from './vitest.mjs'

const json = process.argv.includes('--json')
await bootstrap().catch(failWith)

const sentences = new Map(lines('ids.txt').map((line) => [line.slice(0, 3), line.slice(4)]))
const due = new Set(lines('due.txt'))
const byId = new Map([...sentences.keys()].map((id) => [id, []]))
const unknown = []
for (const test of testsOf(await currentReport())) {
  for (const id of idsOf(test.title)) {
    if (byId.has(id)) byId.get(id).push(test)
    else unknown.push(`${id}: ${test.file}: ${test.title}`)
  }
}
const results = [...byId].map(([id, tests]) => ({ id, tests, result: resultOf(id, tests) }))

if (json) {
  const shown = ({ title, status }) => ({ title, status })
  const list = results.map(({ id, tests }) => ({ id, tests: tests.map(shown) }))
  console.log(JSON.stringify(list, null, 2))
} else {
  for (const { id, tests, result } of results) {
    console.log(
      `${id}  ${result.padEnd(8)}  ${tests.length === 0 ? sentences.get(id) : ''}`.trimEnd(),
    )
    for (const { status, title, suite } of tests)
      console.log(`     ${status.padEnd(8)}  ${title}  (${suite})`)
  }
  const count = (wanted) => results.filter(({ result }) => result === wanted).length
  console.log(
    `\n${count('passed')} passed, ${count('failed')} failed, ${count('due')} due without a passing test, ${count('not yet')} not yet`,
  )
}
for (const title of unknown) console.error(`not in test/conformance/ids.txt: ${title}`)
const isGood = results.every(({ result }) => result === 'passed' || result === 'not yet')
process.exit(isGood && unknown.length === 0 ? 0 : 1)

function lines(name) {
  return readFileSync(join(ROOT, 'test/conformance', name), 'utf8')
    .split('\n')
    .filter(Boolean)
}

/** The ids at the start of a title: "[P04] …", "[P04] [P12] …", "[P04, P12] …". */
function idsOf(title) {
  const [start] = /^(?:\s*\[[A-Z]\d\d(?:\s*,\s*[A-Z]\d\d)*\])*/.exec(title)
  return start.match(/[A-Z]\d\d/g) ?? []
}

function resultOf(id, tests) {
  if (tests.some(({ status }) => status === 'failed')) return 'failed'
  if (tests.some(({ status }) => status === 'passed')) return 'passed'
  return due.has(id) ? 'due' : 'not yet'
}

/** That of the last complete `npm test` if nothing has changed since, else of a new run of the titles with ids. */
async function currentReport() {
  if (existsSync(LAST_REPORT)) {
    const { hash, report } = JSON.parse(readFileSync(LAST_REPORT, 'utf8'))
    if (hash === testedHash()) return report
  }
  const args = ['-t', '\\[[A-Z]\\d\\d', '--passWithNoTests']
  // stdout is for the list.
  const { report } = await runVitest(args, { stdio: ['ignore', process.stderr, process.stderr] })
  return report ?? failWith(new Error('vitest gave no report'))
}
