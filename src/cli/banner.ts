// What dev and serve say at their start: where to look, where the data is, what is there to run.

import { VERSION } from '../version.js'
import type { ProjectDefinition } from './project.js'

export interface Started {
  readonly url: string
  readonly hasStudio: boolean
  readonly database: string
  readonly definitions: readonly ProjectDefinition[]
}

const NAMES_MAX = 8

export function bannerLines({ url, hasStudio, database, definitions }: Started): string[] {
  return [
    '',
    `  Perdure ${VERSION}`,
    '',
    ...(hasStudio ? [`  Studio    ${url}`] : []),
    `  API       ${url}/api/v1      openapi.json`,
    `  Database  ${database}`,
    `  Workflows ${workflowsLine(definitions)}`,
    '',
  ]
}

/** Tasks are parts of the others. */
export function workflowsLine(definitions: readonly ProjectDefinition[]): string {
  const names = definitions
    .filter(({ kind }) => kind !== 'task')
    .map(({ name, kind }) => `${name} (${kind})`)
  if (names.length === 0) return NONE
  const more = names.length > NAMES_MAX ? ` · and ${names.length - NAMES_MAX} more` : ''
  return `${names.slice(0, NAMES_MAX).join(' · ')}${more}`
}

const NONE = 'none yet: "perdure init" writes a first one, or save this as workflows/hello.ts'

/** For a folder without any; it is taken up when it is saved. */
export const FIRST_PROGRAM = [
  "    import { workflow } from 'perdure'",
  "    export const hello = workflow('hello', async (wf) => wf.do('greet', () => 'Hello'))",
]
