// The commands, in the order of the help.

import type { AddCommand } from '../program.js'
import { addDev } from './dev.js'
import { addGraph } from './graph.js'
import { addLook } from './look.js'
import { addOperate } from './operate.js'
import { addSchedules } from './schedules.js'
import { addSend } from './send.js'
import { addServe, addWorker } from './serve.js'
import { addStart } from './start.js'
import { addSystem } from './system.js'

export const COMMANDS: readonly AddCommand[] = [
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
]
