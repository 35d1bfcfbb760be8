// The commands, in the order of the help. All of them are read at each start, so a file here imports what declares a command;
// what executes it is imported when it is executed.

import type { AddCommand } from '../program.js'
import { checkCommand } from './check.js'
import { addDev } from './dev.js'
import { addDoctor } from './doctor.js'
import { addExport, addImport } from './export.js'
import { addGraph } from './graph.js'
import { addInit } from './init.js'
import { addLook } from './look.js'
import { addMigrate } from './migrate.js'
import { addOperate } from './operate.js'
import { addSchedules } from './schedules.js'
import { addSend } from './send.js'
import { addServe, addWorker } from './serve.js'
import { addStart } from './start.js'
import { addSystem } from './system.js'

export const COMMANDS: readonly AddCommand[] = [
  addInit,
  addDev,
  addServe,
  addWorker,
  addStart,
  addLook,
  addSend,
  addOperate,
  addSchedules,
  addGraph,
  addSystem,
  checkCommand(async (folder) => {
    const { engineOptionsOf, loadProject } = await import('../project.js')
    return engineOptionsOf(await loadProject(folder))
  }),
  addMigrate,
  addExport,
  addImport,
  addDoctor,
]
