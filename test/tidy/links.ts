// Links in Markdown: files that are there, headings that are there.

import { existsSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { ROOT, read } from './repository.js'
import type { Problem, Source } from './rules.js'

export function deadLinks({ path, text }: Source): Problem[] {
  return linksOf(text).flatMap((link) => {
    const [target = '', anchor] = link.split('#')
    const file = target === '' ? path : posix.join(dirname(path), decodeURI(target))
    if (target.startsWith('/') || file.startsWith('..')) {
      return [`${path}: ${link} leaves the repository → link to a file of it`]
    }
    if (target !== '' && !existsSync(join(ROOT, file))) {
      return [`${path}: ${link} does not exist → mend or remove the link`]
    }
    if (!anchor || !file.endsWith('.md')) return []
    const headings = anchorsOf(file === path ? text : read(file))
    if (headings.includes(anchor)) return []
    return [`${path}: ${link} has no such heading → mend the part after #`]
  })
}

/** Files and folders of ours that stand in `backquotes`. A place with <…>, … or * is a pattern, not a path. */
export function deadPaths({ path, text }: Source): Problem[] {
  const quoted = [
    ...withoutFences(text).matchAll(/`((?:\.\/)?[\w.-]+\/[\w./-]+|[\w-]+\.(?:md|json|ts|mjs))`/g),
  ]
  const named = quoted.map((match) => match[1] ?? '').filter((place) => isOurs(place))
  return [...new Set(named)]
    .filter((place) => !existsSync(join(ROOT, place)))
    .map((place) => `${path}: ${place} does not exist → say where it is now`)
}

const OURS = /^(src|sql|test|scripts|docs|examples|bench|\.ci)\/|^[A-Z]+\.md$/
const isOurs = (place: string): boolean => OURS.test(place) && !place.includes('…')

/** Relative ones only; what stands in code is no link. */
function linksOf(markdown: string): string[] {
  const prose = withoutFences(markdown).replace(/(`+)[^`]*?\1/g, '')
  const inline = [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)]
  const references = [...prose.matchAll(/^\[[^\]]+\]:\s*<?([^\s>]+)/gm)]
  const links = [...inline, ...references].map((match) => match[1] ?? '')
  return links.filter((link) => !/^[a-z][a-z0-9+.-]*:/i.test(link))
}

/** As GitHub makes them, and the explicit ones. */
export function anchorsOf(markdown: string): string[] {
  const seen = new Map<string, number>()
  const headings = [...withoutFences(markdown).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)].map((match) => {
    const words = (match[1] ?? '').replace(/\]\([^)]*\)/g, ']').toLowerCase()
    const slug = words.replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
  const explicit = [...markdown.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(
    (match) => match[1] ?? '',
  )
  return [...headings, ...explicit]
}

function withoutFences(markdown: string): string {
  return markdown.replace(/^ *(```+|~~~+)[\s\S]*?^ *\1 *$/gm, '')
}
