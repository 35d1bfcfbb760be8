// How a test names a step. Inside a scope, a race or a loop the kernel puts the path before the name (renewals@3/charge,
// undo:renewals@3/charge). A test may say the whole of it, or only the name that the code gave.

import { shownName } from '../model/ids.js'

const UNDO = 'undo:'

/** Whether the step that the kernel calls `name` is the one that a test calls `asked`. */
export function answersTo(name: string, occurrence: number, asked: string): boolean {
  const [isUndo, step] = split(name)
  const [wantsUndo, wanted] = split(asked)
  if (isUndo !== wantsUndo) return false
  // The number of a step stands in the name of its undo.
  const forms = isUndo ? [step, step.replace(/#\d+$/, '')] : [step, shownName(step, occurrence)]
  return forms.some((form) => form === wanted || form.endsWith(`/${wanted}`))
}

function split(name: string): [isUndo: boolean, step: string] {
  return name.startsWith(UNDO) ? [true, name.slice(UNDO.length)] : [false, name]
}
