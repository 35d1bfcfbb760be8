// What a definition is made of, as lines.

import type { DescribedTransition, Description } from '../../index.js'
import { json } from './text.js'
import { span } from './time.js'

export function describedLines(of: Description): string[] {
  const { name, version, kind, description, input, signals, places, transitions } = of
  const isMachine = places.length > 0
  return [
    `${name} v${version}  ${kind}${description === null ? '' : `  ${description}`}`,
    ...(input === null ? [] : [`  input   ${json(input)}`]),
    ...(isMachine ? [] : signals.map((one) => `  signal  ${one.name}${schemaText(one.schema)}`)),
    ...places.map((place, i) => {
      const about = place.isFinal ? 'the end' : i === 0 ? 'the beginning' : ''
      const lines = transitions.filter(({ from }) => from === place.name).map(transitionLine)
      return [`  ${place.name}${about ? `  (${about})` : ''}`, ...lines].join('\n')
    }),
  ]
}

const schemaText = (schema: object | null): string => (schema === null ? '' : `  ${json(schema)}`)

function transitionLine(one: DescribedTransition): string {
  const when = one.runs === 'late' ? `after ${span(one.afterMs ?? 0)}` : one.runs
  const facts = [
    when,
    ...(one.isGuarded ? ['guarded'] : []),
    ...(one.retries > 0 ? [`${one.retries} retries`] : []),
    ...(one.errorPlace === null ? [] : [`on error to ${one.errorPlace}`]),
  ]
  return `    ${one.name} → ${one.to.join(' or ')}  (${facts.join(', ')})`
}
