// The version of this package.

import { readFileSync } from 'node:fs'

/** package.json stands above src, and above dist. */
const { version } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string }

export const VERSION = version
