// What a file of a project exports.

import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PerdureError } from '../model/errors.js'
import type { Io } from './io.js'

export async function exportsOf(io: Io, file: string): Promise<readonly unknown[]> {
  const { href } = pathToFileURL(resolve(io.cwd, file))
  const load = /\.m?ts$/.test(file) ? (await typescript(file)).tsImport : importOf
  return Object.values((await load(href, import.meta.url)) as object)
}

const importOf = (href: string): Promise<unknown> => import(href)

async function typescript(file: string) {
  try {
    return await import('tsx/esm/api')
  } catch (cause) {
    throw new PerdureError(
      'PEER_MISSING',
      `To read ${file} needs the package "tsx", which is not installed.`,
      {
        hint: 'npm install tsx, or give the JSON of the graph',
        cause,
      },
    )
  }
}
