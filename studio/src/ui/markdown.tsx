// A little of Markdown, made of elements and never of markup: headings, lists, code, bold, and links to http. Everything else,
// pictures and HTML too, is the text that it is.

import { Fragment, type ReactNode } from 'react'

const LENGTH_MAX = 20_000
const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*|(?<!!)\[[^\]\n]+\]\(https?:\/\/[^\s)]+\))/g

export function Markdown({ text }: { readonly text: string }) {
  const blocks = text.slice(0, LENGTH_MAX).split(/\n{2,}/)
  return (
    <div className="markdown">
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks of a text have no other name
        <Block key={index} text={block} />
      ))}
      {text.length > LENGTH_MAX && <p className="faint">… {text.length - LENGTH_MAX} more</p>}
    </div>
  )
}

function Block({ text }: { readonly text: string }) {
  const heading = /^#{1,4} (.*)$/.exec(text)
  if (heading) return <h3>{inline(heading[1] ?? '')}</h3>
  if (text.startsWith('```')) return <pre>{text.replace(/^```\w*\n?/, '').replace(/```$/, '')}</pre>
  const lines = text.split('\n')
  if (lines.every((line) => /^[-*] /.test(line))) {
    return (
      <ul>
        {lines.map((line) => (
          <li key={line}>{inline(line.slice(2))}</li>
        ))}
      </ul>
    )
  }
  return <p>{inline(text)}</p>
}

function inline(text: string): ReactNode {
  return text.split(INLINE).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no other name
    <Fragment key={index}>{partOf(part)}</Fragment>
  ))
}

function partOf(part: string): ReactNode {
  if (/^`.+`$/.test(part)) return <code>{part.slice(1, -1)}</code>
  if (/^\*\*.+\*\*$/.test(part)) return <strong>{part.slice(2, -2)}</strong>
  const link = /^\[(.+)\]\((https?:\/\/[^\s)]+)\)$/.exec(part)
  if (!link) return part
  return (
    <a href={link[2]} target="_blank" rel="noopener noreferrer nofollow">
      {link[1]}
    </a>
  )
}
