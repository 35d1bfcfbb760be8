// The commands, in the order of the help.

import type { AddCommand } from '../program.js'

export const COMMANDS: readonly AddCommand[] = []
