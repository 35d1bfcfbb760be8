// Categories of errors, for those that catch some and not others.

const BY_CODE: Readonly<Record<string, string>> = {
  STEP_TIMED_OUT: 'timeout',
  WAIT_TIMED_OUT: 'timeout',
  WORKFLOW_TIMED_OUT: 'timeout',
  EXPRESSION_INVALID: 'expression',
  EXPRESSION_FAILED: 'expression',
  NO_BRANCH: 'expression',
  INPUT_INVALID: 'validation',
  PAYLOAD_INVALID: 'validation',
  OPTION_INVALID: 'validation',
  VALUE_UNSTORABLE: 'validation',
  HTTP_BLOCKED: 'http',
  HTTP_FAILED: 'http',
  HTTP_STATUS: 'http',
  WORKFLOW_CANCELLED: 'cancelled',
}

/** An error that says nothing of it is an `error`. */
export function categoryOf(code: string | undefined): string {
  return (code !== undefined && Object.hasOwn(BY_CODE, code) && BY_CODE[code]) || 'error'
}

/** `config`: that of a try-catch. */
export function isCaught(config: unknown, category: string): boolean {
  const categories = config as readonly string[] | null
  return categories === null || categories.includes(category)
}
