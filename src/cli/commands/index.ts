// The commands, in the order of the help.

import type { AddCommand } from '../program.js'
import { addDoctor } from './doctor.js'
import { addExport, addImport } from './export.js'
import { addInit } from './init.js'
import { addMigrate } from './migrate.js'

export const COMMANDS: readonly AddCommand[] = [
  addInit,
  addMigrate,
  addExport,
  addImport,
  addDoctor,
]
