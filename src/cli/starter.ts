// The files of a new folder.

/** Those that this version was tried with. */
const NODE_TYPES = '^20.19.43'
const TYPESCRIPT = '^6.0.3'
const VITEST = '^4.1.12'

export function starterFiles(name: string, version: string): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(packageOf(name, version), null, 2)}\n`,
    'tsconfig.json': TSCONFIG,
    '.gitignore': 'node_modules/\n.perdure/\n',
    'README.md': README.replace('NAME', name),
    'workflows/hello.ts': HELLO,
    'workflows/hello.test.ts': HELLO_TEST,
  }
}

const packageOf = (name: string, version: string) => ({
  name,
  private: true,
  type: 'module',
  scripts: { dev: 'perdure dev', start: 'perdure serve', test: 'vitest run', typecheck: 'tsc' },
  dependencies: { perdure: `^${version}` },
  devDependencies: { '@types/node': NODE_TYPES, typescript: TYPESCRIPT, vitest: VITEST },
})

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2022",
    "lib": ["es2023", "esnext.disposable"],
    "module": "nodenext",
    "strict": true,
    "noEmit": true,
    "skipLibCheck": true,
    "types": ["node"]
  },
  "include": ["workflows"]
}
`

const README = `# NAME

Workflows that survive crashes and deploys, with [Perdure](https://www.npmjs.com/package/perdure).

    npm install
    npm test
    npm run dev

\`workflows/hello.ts\` is a workflow: kill the process at any line, start it again, and it goes on there.
Everything that is exported from \`workflows/\` is found. Set \`DATABASE_URL\` to keep runs in PostgreSQL.
`

const HELLO = `import { typed, workflow } from 'perdure'

export const hello = workflow(
  'hello',
  { signals: { reply: typed<string>() } },
  async (wf, name: string) => {
    const greeting = await wf.do('greet', () => \`Hello, \${name}!\`)
    await wf.sleep('a day', '1 day')
    const reply = await wf.waitFor('reply', { timeout: '7 days' })
    return \`\${greeting} \${reply}\`
  },
)
`

const HELLO_TEST = `import { createTestEngine } from 'perdure/testing'
import { expect, test } from 'vitest'
import { hello } from './hello.js'

test('greets, sleeps for a day, and answers with the reply', async () => {
  await using engine = await createTestEngine({ workflows: [hello] })
  const run = await engine.start(hello, 'Ada')
  await engine.advance('1 day')
  await run.signal('reply', 'Nice to meet you.')
  expect(await run.result()).toBe('Hello, Ada! Nice to meet you.')
}, 60_000)
`
