// perdure init: a folder to begin with.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { EXIT } from '../exit.js'
import type { AddCommand } from '../program.js'
import { starterFiles } from '../starter.js'

export const addInit: AddCommand = ({ io, root, act }) => {
  const command = root
    .command('init')
    .argument('[folder]', 'made if it is not there', '.')
    .description('a new folder with a workflow and its test')
  act(command, async ([given = '.'], options) => {
    const { folderTaken } = await import('../../tools/errors.js')
    const folder = resolve(io.cwd, given)
    const files = starterFiles(nameOf(folder), ownVersion())
    const there = Object.keys(files).filter((file) => existsSync(join(folder, file)))
    if (there.length > 0) throw folderTaken(given, there)
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), text, { flag: 'wx' })
      if (!options.json) io.out(`  ${join(relative(io.cwd, folder), file)}`)
    }
    if (options.json) io.out(JSON.stringify({ folder, files: Object.keys(files) }))
    else for (const line of nextSteps(relative(io.cwd, folder))) io.out(line)
    return EXIT.done
  })
}

const nextSteps = (folder: string): readonly string[] => [
  '',
  ...(folder === '' ? [] : [`  cd ${folder}`]),
  '  npm install',
  '  npm test          the workflow with a clock that the test moves',
  '  npm run dev       runs it, with an embedded database in .perdure',
]

/** As npm takes it. */
const nameOf = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '') || 'workflows'

function ownVersion(): string {
  const { version } = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  ) as { readonly version: string }
  return version
}
