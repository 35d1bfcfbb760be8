// The workflows of folders, loaded by one process of its own: what is bundled is imported by Node.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { folderWith, ROOT } from './processes.js'

interface Loaded {
  readonly found?: readonly string[]
  readonly options?: object
  readonly serve?: object
  readonly code?: string
  readonly message?: string
  readonly hint?: string
}

const hello = (name: string) =>
  `import { workflow } from 'perdure'\nexport const hello = workflow('${name}', async () => 1)\n`

const REVIEW = `
import { Transition, Workflow } from 'perdure'
import { Kind, shared } from '@/shared'
@Workflow({ name: \`review\${Kind.Plain}\` })
export class Review {
  @Transition({ to: 'end' })
  async go(): Promise<string> { return shared }
}
export { Review as Again }
export const noDefinition = 1
`

const PROJECTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plain: {
    'package.json': '{ "type": "commonjs" }',
    'tsconfig.json': '{ "compilerOptions": { "paths": { "@/*": ["./lib/*"] } } }',
    'lib/shared.ts': "export enum Kind { Plain }\nexport const shared: string = 'x'\n",
    'workflows/review.ts': REVIEW,
    'workflows/deep/er/hello.mjs': hello('deep'),
    'workflows/hello.test.ts': 'this is no program',
    'src/workflows/common.js':
      "const { task } = require('perdure')\nconst { join } = require('node:path')\nexports.mail = task('mail', async () => join(__dirname, 'x'))\nif (!__filename.endsWith('common.js')) throw new Error(__filename)",
    'src/billing/pay.workflow.ts': `${hello('pay')}if (!import.meta.url.endsWith('src/billing/pay.workflow.ts')) throw new Error(import.meta.url)`,
    'src/billing/other.ts': hello('not-found'),
    'lead.graph.json': JSON.stringify({
      id: 'lead',
      nodes: [{ id: 'a', type: 'set', config: { a: 1 } }],
      edges: [{ from: 'trigger', to: 'a' }],
    }),
  },
  config: {
    'perdure.config.ts':
      "import { hello } from './code'\nexport default { workflows: [hello], schema: 'own', serve: { hosts: ['x'] } }",
    'code.ts': hello('listed'),
    'workflows/unlisted.ts': `${hello('unlisted')}throw new Error('must not be loaded')`,
  },
  documented: {
    'perdure.config.ts':
      /```ts\n(.*?)```/s.exec(readFileSync(join(ROOT, 'docs/running.md'), 'utf8'))?.[1] ?? '',
  },
  // One copy of what the config and the workflows both import.
  same: {
    'perdure.config.mjs':
      "import { CardError } from './errors.js'\nglobalThis.sameCard = CardError\nexport default { errors: [CardError] }",
    'package.json': '{ "type": "module" }',
    'errors.js': 'export class CardError extends Error {}',
    'workflows/a.js': `import { CardError } from '../errors.js'\nif (globalThis.sameCard !== CardError || CardError.name !== 'CardError') throw new Error('two')\n${hello('same')}`,
  },
  broken: { 'workflows/order.ts': 'const a = 1\n\nexport const b = (a =>' },
  throwing: { 'workflows/order.ts': 'type A = { a: 1 }\nconst x = null as unknown as A\n\nx.a\n' },
  wrong: { 'workflows/order.ts': `\n${hello('two words')}` },
  missing: { 'workflows/order.ts': `${hello('m')}import x from 'not-there'\nconsole.log(x)` },
  twice: { 'workflows/a.ts': hello('one'), 'workflows/b.ts': hello('one') },
  graph: { 'bad.graph.json': '{ "id": "g", "nodes": [], ' },
  nodefault: { 'perdure.config.js': 'export const workflows = []' },
  notone: { 'perdure.config.js': 'export default { workflows: [1] }' },
  empty: {},
}

const SCRIPT = `
import { loadProject } from ${JSON.stringify(pathToFileURL(join(ROOT, 'dist/cli/project.js')).href)}
const all = {}
for (const name of process.argv.slice(1)) {
  try {
    const { definitions, options, serve } = await loadProject(name)
    const found = definitions.map(({ name, kind, file }) => name + ' ' + kind + ' ' + file)
    all[name] = { found, options: { ...options, errors: undefined }, serve }
  } catch ({ code, message, hint }) {
    all[name] = { code, message, hint }
  }
}
console.log(JSON.stringify(all))
`

test('a project is found in its folders, in CommonJS and in TypeScript, and what is wrong has its file and line', async () => {
  const files = Object.entries(PROJECTS).flatMap(([name, own]) =>
    Object.entries(own).map(([path, text]) => [`${name}/${path}`, text] as const),
  )
  const cwd = folderWith({ ...Object.fromEntries(files), 'empty/.keep': '' })
  const names = [...Object.keys(PROJECTS), 'nowhere']
  const args = ['--input-type=module', '-e', SCRIPT, ...names]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd })
  const all = JSON.parse(stdout) as Readonly<Record<string, Loaded>>

  expect(all.plain?.found).toEqual([
    'pay function src/billing/pay.workflow.ts',
    'mail task src/workflows/common.js',
    'deep function workflows/deep/er/hello.mjs',
    'review0 machine workflows/review.ts',
    'lead graph lead.graph.json',
  ])
  expect(all.config).toEqual({
    found: ['listed function perdure.config.ts'],
    options: { schema: 'own' },
    serve: { hosts: ['x'] },
  })
  expect(all.documented).toEqual({
    found: ['hello function perdure.config.ts'],
    options: { retention: '90 days' },
    serve: { hosts: ['perdure.example.com'] },
  })
  expect(all.same?.found).toEqual(['same function workflows/a.js'])
  expect(all.empty?.found).toEqual([])

  const wrong = (name: string) => `${all[name]?.code} ${all[name]?.message}`
  expect(wrong('broken')).toMatch(
    /^PROJECT_INVALID workflows\/order\.ts:3:\d+: Unexpected end of file/,
  )
  expect(wrong('throwing')).toMatch(
    /^PROJECT_INVALID workflows\/order\.ts:4: TypeError: Cannot read/,
  )
  expect(wrong('wrong')).toMatch(/^NAME_INVALID workflows\/order\.ts:3: "two words" cannot be/)
  expect(wrong('missing')).toMatch(
    /^PROJECT_INVALID workflows\/order\.ts:3:\d+: Could not resolve "not-there"/,
  )
  expect(wrong('twice')).toBe(
    'PROJECT_INVALID Two definitions are called "one": in workflows/a.ts and in workflows/b.ts.',
  )
  expect(wrong('graph')).toMatch(/^PROJECT_INVALID bad\.graph\.json: SyntaxError/)
  expect(wrong('nodefault')).toBe('PROJECT_INVALID perdure.config.js: no default export')
  expect(wrong('notone')).toBe('PROJECT_INVALID perdure.config.js: workflows[0] is no definition')
  expect(wrong('nowhere')).toBe('PROJECT_INVALID There is no folder nowhere.')
})
