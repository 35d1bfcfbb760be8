// npm test [-- --fast] [arguments of vitest: a file filter, -t 'title', --project kernel, -u …]
//
// Lint, types, then every test; --fast leaves out the real servers and the slower projects. All of it runs even if
// something early fails. The last line is always "N passed, N failed, N skipped".

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootstrap, CACHE, failWith, ROOT, run } from './bootstrap.mjs'
import { brokenFiles, LAST_REPORT, runVitest, testedHash, testsOf } from './vitest.mjs'

const args = process.argv.slice(2).filter((arg) => arg !== '--fast')
const fast = process.argv.includes('--fast')

const { built } = await bootstrap().catch((error) => {
  console.error(error.message)
  finish({ passed: 0, failed: 1, skipped: 0 })
})
const bin = (path) => join(ROOT, 'node_modules', path)
const node = async (...command) => (await run(process.execPath, command)).code === 0
const checks = {
  build: built,
  lint: await node(bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.'),
  types: await typesOf('.'),
  'types of the Studio': await typesOf('studio'),
  'types with NestJS': await typesOf('test/nestjs'),
}
const hash = testedHash()
const { code, interrupted, report, parts } = await runVitest(args, { fast }).catch(failWith)
const tests = report ? testsOf(report) : []
const broken = report ? brokenFiles(report) : []
const count = (status) => tests.filter((test) => test.status === status).length
const failedChecks = Object.keys(checks).filter((name) => !checks[name])

const isWhole = !fast && !interrupted && args.length === 0 && tests.length > 0
if (isWhole && parts.every(({ skip }) => !skip))
  writeFileSync(LAST_REPORT, JSON.stringify({ hash, report }))

console.log('')
for (const name of failedChecks) console.log(`failed   ${name}`)
for (const file of broken) console.log(`failed   ${file} as a whole`)
for (const { name, skip, enable } of parts) {
  if (!skip && tests.length > 0) console.log(`ran      ${name}`)
  if (skip) console.log(`skipped  ${name}: ${skip.split('\n', 1)[0]}\n         enable: ${enable}`)
}
if (fast)
  console.log(
    'skipped  test/browser, bullmq, conformance, crash, demo, docs, embedded, fleet, golden, mounting, nestjs, orms, package, redis, support, testing, types, and the slowest files of the others (vitest.config.ts): left out by --fast\n         enable: npm test',
  )
for (const [file, skips] of skipsByFile()) console.log(`skipped  ${skips} in ${file}`)

// vitest may fail for what is no test: a server that REQUIRE asks for, an unhandled rejection.
const failedTests = count('failed') + broken.length
const failedItself = code !== 0 && failedTests === 0 ? 1 : 0
const why = interrupted ? 'interrupted' : 'vitest itself: its message is above'
if (failedItself) console.log(`failed   ${why}`)
const failed = failedTests + failedItself + failedChecks.length
finish({ passed: count('passed'), failed, skipped: count('skipped') })

/** What has not changed since the last time is not checked again. */
function typesOf(folder) {
  const name = folder === '.' ? 'all' : folder.replace('/', '-')
  const known = ['--incremental', '--tsBuildInfoFile', join(CACHE, `types-${name}.tsbuildinfo`)]
  const project = join(folder, 'tsconfig.json')
  return node(bin('typescript-native/bin/tsc'), '-p', project, '--noEmit', ...known)
}

function skipsByFile() {
  const skips = new Map()
  for (const { file, status } of tests) {
    if (status === 'skipped') skips.set(file, (skips.get(file) ?? 0) + 1)
  }
  return skips
}

function finish({ passed, failed, skipped }) {
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
  process.exit(failed > 0 ? 1 : 0)
}
