// The fields of the input that the expressions of a graph read: what a start form asks for. Pure.

import { type Graph, isCel, isDict } from '../../../diagram/graph.js'

const READ = /(?<![\w.])input\.([A-Za-z_]\w*)/g

export function inputFields({ nodes, output }: Graph): readonly string[] {
  const found = new Set<string>()
  const visit = (value: unknown): void => {
    if (isCel(value)) for (const [, name] of value.cel.matchAll(READ)) found.add(name ?? '')
    else if (Array.isArray(value)) for (const one of value) visit(one)
    else if (isDict(value)) for (const one of Object.values(value)) visit(one)
  }
  for (const { config } of nodes) visit(config)
  visit(output)
  return [...found]
}
