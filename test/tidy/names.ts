// Names of code that Markdown says to be in a file: `Frames.recall` in `src/kernel/frames.ts`.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { ROOT, read } from './repository.js'
import type { Problem, Source } from './rules.js'

const SAID = /`([A-Za-z_][\w.]*)`\s+in\s+`((?:src|sql)\/[\w./-]+\.(?:ts|sql))`/g

/** Of `turn.step` only `step` is looked for: a name that begins small is that of a value. */
export function deadNames({ path, text }: Source): Problem[] {
  return [...text.matchAll(SAID)].flatMap(([, name = '', file = '']) => {
    if (!existsSync(join(ROOT, file))) return [] // deadPaths says so
    const wanted = /^[a-z]/.test(name) ? name.slice(name.lastIndexOf('.') + 1) : name
    if (namesOf(file).has(wanted)) return []
    return [`${path}: ${name} is not in ${file} → say what it is called, or where it is now`]
  })
}

const known = new Map<string, ReadonlySet<string>>()

function namesOf(file: string): ReadonlySet<string> {
  const names = known.get(file) ?? declaredIn({ path: file, text: read(file) })
  known.set(file, names)
  return names
}

/** What a file declares: functions, types, values, and members as Class.member. */
function declaredIn({ path, text }: Source): ReadonlySet<string> {
  if (path.endsWith('.sql')) {
    const made = text.matchAll(/create (?:or replace )?(?:function|table) @schema@\.(\w+)/g)
    return new Set([...made].map(([, name = '']) => name))
  }
  const names = new Set<string>()
  const visit = (node: ts.Node, owner: string | null): void => {
    const name = nameOf(node)
    if (name !== null) names.add(name)
    if (name !== null && owner !== null) names.add(`${owner}.${name}`)
    const isOwner = ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)
    ts.forEachChild(node, (child) => visit(child, isOwner ? name : null))
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true), null)
  return names
}

function nameOf(node: ts.Node): string | null {
  const isDeclared =
    ts.isFunctionDeclaration(node) ||
    ts.isVariableDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isClassLike(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isClassElement(node) ||
    ts.isTypeElement(node)
  return isDeclared && node.name && ts.isIdentifier(node.name) ? node.name.text : null
}
