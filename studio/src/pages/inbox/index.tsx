// What waits for a person: each a small form, with what the run shows to people beside it. The oldest first.

import { useQueryClient } from '@tanstack/react-query'
import type { InboxItem } from 'perdure'
import { useState } from 'react'
import { INBOX_PAGE, useInbox } from '../../api/insight.js'
import { useTitle } from '../../app/title.js'
import { plural } from '../../lib/format.js'
import { Button } from '../../ui/button.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { AnsweredView } from './answered.js'
import './inbox.css'
import { ItemView } from './item.js'

export interface Answered {
  readonly item: InboxItem
  /** The name of what was sent. */
  readonly answer: string
}

/** The same run may come back with another question. */
const keyOf = ({ id, since }: InboxItem): string => `${id} ${since.getTime()}`

export function Page() {
  useTitle('Inbox')
  const [limit, setLimit] = useState(INBOX_PAGE)
  const inbox = useInbox(limit)
  const queries = useQueryClient()
  const [answered, setAnswered] = useState<readonly Answered[]>([])
  const answer = (item: InboxItem, name: string): void => {
    setAnswered((now) => [...now, { item, answer: name }])
    for (const key of ['inbox', 'stats', 'run']) void queries.invalidateQueries({ queryKey: [key] })
  }
  const done = new Map(answered.map((one) => [keyOf(one.item), one]))
  const open = inbox.data?.items.filter((item) => !done.has(keyOf(item))) ?? []
  const shown = [...open, ...answered.map(({ item }) => item)].toSorted(
    (a, b) => a.since.getTime() - b.since.getTime(),
  )
  return (
    <div className="page inbox">
      <div className="page-head">
        <h1>Inbox</h1>
        {open.length > 0 && <span className="muted">{wordsOf(open.length, inbox.data?.next)}</span>}
      </div>
      {inbox.isError && <Problem error={inbox.error} what="The inbox could not be read." />}
      {inbox.isPending && <Skeleton lines={8} />}
      {inbox.isSuccess && shown.length === 0 && <Nothing />}
      <ul className="stack inbox-list">
        {shown.map((item) => {
          const past = done.get(keyOf(item))
          return (
            <li key={keyOf(item)} className="panel">
              {past ? <AnsweredView answered={past} /> : <ItemView item={item} onAnswer={answer} />}
            </li>
          )
        })}
      </ul>
      {inbox.data?.next && limit < 500 && (
        <Button look="quiet" icon="down" onClick={() => setLimit(Math.min(500, limit * 2))}>
          More
        </Button>
      )}
    </div>
  )
}

const wordsOf = (waiting: number, next: string | null | undefined): string =>
  next
    ? `more than ${waiting} runs wait for a person`
    : `${plural(waiting, 'run')} ${waiting === 1 ? 'waits' : 'wait'} for a person, the oldest first`

function Nothing() {
  return (
    <Empty title="Nothing waits for anybody" command="const { ok } = await wf.waitFor('approval')">
      A run that waits for a signal, and a machine with a transition that somebody has to choose, is
      here with a form for the answer.
    </Empty>
  )
}
