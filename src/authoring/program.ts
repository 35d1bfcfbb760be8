// From a definition to what the kernel drives.

import type { Program } from '../model/program.js'
import type { Made, Surroundings } from './definition.js'
import { workflowProgram } from './function/workflow.js'
import { graphProgram } from './graph/program.js'
import { machineProgram } from './machine/program.js'
import { taskProgram } from './task/task.js'

export function programOf(made: Made, around: Surroundings): Program {
  switch (made.kind) {
    case 'task':
      return taskProgram(made, around)
    case 'machine':
      return machineProgram(made, around)
    case 'graph':
      return graphProgram(made, around)
    case 'workflow':
      return workflowProgram(made, around)
  }
}
