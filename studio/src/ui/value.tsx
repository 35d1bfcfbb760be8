// Any value of a user as a tree of text. Nothing of it is ever markup; only http addresses become links.

import { type ReactNode, useState } from 'react'
import { cut } from '../lib/format.js'
import { leafOf, membersOf, summaryOf } from '../lib/values.js'
import { Icon } from './icon.js'
import './value.css'

const OPEN_DEPTH = 2
const CHUNK = 100
const TEXT_MAX = 400

export function ValueView({ value, label }: { readonly value: unknown; readonly label?: string }) {
  return (
    <div className="value">
      <Branch name={label ?? null} value={value} depth={0} above={[]} />
    </div>
  )
}

interface BranchProps {
  readonly name: string | null
  readonly value: unknown
  readonly depth: number
  /** What it is inside of: a value that holds itself is not followed. */
  readonly above: readonly unknown[]
}

function Branch({ name, value, depth, above }: BranchProps) {
  const members = above.includes(value) ? null : membersOf(value)
  const isSmall = members !== null && members.length <= 40
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && isSmall)
  if (members === null || members.length === 0) {
    return (
      <div className="value-line">
        <Key name={name} />
        {above.includes(value) ? <span className="faint">↻ itself</span> : <Leaf value={value} />}
      </div>
    )
  }
  return (
    <div>
      <button
        type="button"
        className="value-line value-toggle"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={isOpen ? 'down' : 'right'} size={10} />
        <Key name={name} />
        <span className="faint truncate">{summaryOf(value, isOpen)}</span>
      </button>
      {isOpen && <Members members={members} depth={depth} above={[...above, value]} />}
    </div>
  )
}

function Members({
  members,
  depth,
  above,
}: {
  readonly members: readonly (readonly [string, unknown])[]
  readonly depth: number
  readonly above: readonly unknown[]
}) {
  const [shown, setShown] = useState(CHUNK)
  return (
    <div className="value-members">
      {members.slice(0, shown).map(([name, member]) => (
        <Branch key={name} name={name} value={member} depth={depth + 1} above={above} />
      ))}
      {members.length > shown && (
        <button type="button" className="value-more" onClick={() => setShown(shown + CHUNK)}>
          {members.length - shown} more
        </button>
      )}
    </div>
  )
}

function Key({ name }: { readonly name: string | null }): ReactNode {
  return name === null ? null : <span className="value-key">{cut(name, 120)}:</span>
}

function Leaf({ value }: { readonly value: unknown }) {
  const { kind, text } = leafOf(value)
  const [isWhole, setWhole] = useState(text.length <= TEXT_MAX)
  const shown = isWhole ? text : `${text.slice(0, TEXT_MAX)}…`
  return (
    <span className={`value-leaf is-${kind}`}>
      <Linked text={shown} isLink={kind === 'text' && isWhole} />
      {!isWhole && (
        <button type="button" className="value-more" onClick={() => setWhole(true)}>
          all {text.length} characters
        </button>
      )}
    </span>
  )
}

const ADDRESS = /^https?:\/\/[^\s]+$/

/** Links lead out, and only to http: `javascript:` stays a text. */
function Linked({ text, isLink }: { readonly text: string; readonly isLink: boolean }) {
  if (!isLink || !ADDRESS.test(text)) return text
  return (
    <a href={text} target="_blank" rel="noopener noreferrer nofollow">
      {text}
    </a>
  )
}
