// Documents, and the messages that entries answer, on their way into SQL and back.

import type { TurnDelta } from '../kernel/store.js'
import { shownName } from '../model/ids.js'
import type { DocumentRow } from '../model/program.js'
import type { Row } from './driver.js'
import { numberOf, numberOfOrNull, textOf, textOrNull } from './wire.js'

type Turns = readonly { readonly delta: TurnDelta }[]

/** As leave_behind_v1 reads them; null: no turn has any, as nearly always. */
export function packDocuments(turns: Turns): string | null {
  if (!turns.some(({ delta }) => delta.documents.length > 0)) return null
  const said = turns.flatMap(({ delta }, at) =>
    delta.documents.map(({ document, entry }) => {
      const { id, isHidden, type, key, tags, content } = document
      return [at + 1, entry, isHidden, id, type, key, tags, content]
    }),
  )
  return JSON.stringify(said)
}

export function packAnswers(turns: Turns): string | null {
  if (!turns.some(({ delta }) => delta.answers.length > 0)) return null
  const said = turns.flatMap(({ delta }, at) =>
    delta.answers.map(({ no, entry }) => [at + 1, no, entry]),
  )
  return JSON.stringify(said)
}

export function documentOf(row: Row): DocumentRow {
  return {
    id: textOf(row, 'id'),
    type: textOf(row, 'type'),
    key: textOrNull(row, 'key'),
    tags: JSON.parse(textOf(row, 'tags')) as string[],
    isHidden: row.hidden === true,
    content: textOf(row, 'content'),
    step: shownName(textOf(row, 'name'), numberOf(row, 'occurrence')),
    attempt: numberOf(row, 'attempt'),
    at: numberOf(row, 'at'),
    seq: numberOf(row, 'seq'),
    untilSeq: numberOfOrNull(row, 'until_seq'),
  }
}
