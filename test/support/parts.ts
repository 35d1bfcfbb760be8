// What a test run has and what it lacks, for the table that scripts/test.mjs prints at the end. Set-ups of several projects write it,
// in any order: a line each.

import { appendFileSync } from 'node:fs'

/** `skip` is the reason and `enable` the command that would make it run; both null when it runs. */
export interface Part {
  readonly name: string
  readonly skip: string | null
  readonly enable: string | null
}

export function reportParts(parts: readonly Part[]): void {
  const file = process.env.PERDURE_TEST_PARTS
  if (file) appendFileSync(file, parts.map((part) => `${JSON.stringify(part)}\n`).join(''))
}
