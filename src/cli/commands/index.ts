// The commands, in the order of the help.

import type { AddCommand } from '../program.js'
import { addDev } from './dev.js'
import { addServe, addWorker } from './serve.js'

export const COMMANDS: readonly AddCommand[] = [addDev, addServe, addWorker]
