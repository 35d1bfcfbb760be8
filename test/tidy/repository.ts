// Reads the files of this repository for the tidy tests.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Source } from './rules.js'

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const NOT_OURS = ['node_modules', 'dist', 'coverage']

/** Paths from the root, of files that end in `end`, below `folder`. Hidden folders are left out. */
export function filesBelow(folder: string, end: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && !NOT_OURS.includes(name))
    .flatMap((entry) => {
      const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) return filesBelow(path, end)
      return path.endsWith(end) ? [path] : []
    })
    .sort()
}

export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

export function sourcesBelow(folder: string): Source[] {
  return filesBelow(folder, '.ts')
    .filter((path) => !path.endsWith('.generated.ts'))
    .map((path) => ({ path, text: read(path) }))
}
