// A finding as people see it in the output of a test.

import type { Finding } from './simulate-types.js'

export function failedText({ seed, message, trace, hint, repeat }: Finding): string {
  const happened = trace.map((line, i) => `  ${i + 1}. ${line}`)
  return [`Seed ${seed}: ${message}`, ...happened, `What to do: ${hint}.`, `Again: ${repeat}`].join(
    '\n',
  )
}
