// From a definition to what the kernel drives.

import type { Program } from '../model/program.js'
import type { Made, Surroundings } from './definition.js'
import { workflowProgram } from './function/workflow.js'
import { taskProgram } from './task/task.js'

export function programOf(made: Made, around: Surroundings): Program {
  return made.kind === 'task' ? taskProgram(made, around) : workflowProgram(made, around)
}
