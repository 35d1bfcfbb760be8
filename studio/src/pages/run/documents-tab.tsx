// What the run shows to people.

import { useQuery } from '@tanstack/react-query'
import type { RunInfo, StoredDocument } from 'perdure'
import { api } from '../../api/api.js'
import { useRefresh } from '../../api/live.js'
import { Empty, Skeleton } from '../../ui/empty.js'
import { Markdown } from '../../ui/markdown.js'
import { Ago } from '../../ui/time.js'
import { ValueView } from '../../ui/value.js'
import type { Then } from './model/then.js'

export function DocumentsTab({ run, then }: { readonly run: RunInfo; readonly then: Then }) {
  const { data } = useQuery({
    queryKey: ['run', run.id, 'documents'],
    queryFn: () => api().client.documents(run.id),
    enabled: then.documents === null,
    refetchInterval: useRefresh(3_000),
  })
  const documents = then.documents ?? data
  if (!documents) return <Skeleton />
  if (documents.length === 0) {
    return (
      <Empty
        title="It has shown nothing yet"
        command="await wf.documents.save('note', { text: 'Hello' })"
      >
        Notes, messages and results that a run saves for people appear here.
      </Empty>
    )
  }
  return (
    <ol className="scroll-list">
      {documents.map((document) => (
        <DocumentView key={document.id} document={document} />
      ))}
    </ol>
  )
}

export function DocumentView({ document }: { readonly document: StoredDocument }) {
  const { className, key, tags, content, step, createdAt } = document
  const text = textOf(content)
  return (
    <li className="document">
      <div className="row">
        <strong>{className}</strong>
        {key !== null && <code className="faint">{key}</code>}
        {tags.map((tag) => (
          <span key={tag} className="tag">
            {tag}
          </span>
        ))}
        <span className="grow" />
        <span className="faint">
          {step} · <Ago at={createdAt} />
        </span>
      </div>
      {text === null ? <ValueView value={content} /> : <Markdown text={text} />}
    </li>
  )
}

const TEXT_FIELDS = ['markdown', 'text', 'content', 'message']

/** A document that is one text is shown as text. */
function textOf(content: unknown): string | null {
  if (typeof content === 'string') return content
  if (typeof content !== 'object' || content === null) return null
  const entries = Object.entries(content)
  const [only] = entries
  if (entries.length !== 1 || !only || !TEXT_FIELDS.includes(only[0])) return null
  return typeof only[1] === 'string' ? only[1] : null
}
