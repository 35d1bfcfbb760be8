// Everything that is wrong with a graph, at once: each problem with the path to it.

import { PerdureError } from '../../model/errors.js'

export interface Problem {
  /** As 'nodes[2].config.if'. */
  readonly path: string
  readonly message: string
}

const SHOWN_MAX = 5

export class Problems {
  readonly list: Problem[] = []

  add(path: string, message: string): void {
    this.list.push({ path, message })
  }

  /** Throws GRAPH_INVALID if there is one. */
  refuse(graph: string): void {
    const { list } = this
    if (list.length > 0) throw graphInvalid(graph, list)
  }
}

export const graphInvalid = (graph: string, problems: readonly Problem[]): PerdureError => {
  const lines = problems.slice(0, SHOWN_MAX).map(({ path, message }) => `${path} ${message}`)
  const more = problems.length > SHOWN_MAX ? `; and ${problems.length - SHOWN_MAX} more` : ''
  return new PerdureError(
    'GRAPH_INVALID',
    `Graph "${graph}" cannot be used: ${lines.join('; ')}${more}`,
    {
      hint: 'details.problems has all of them, each with its path',
      details: { problems },
    },
  )
}

/** What an error says, as part of a list. */
export const said = (error: unknown): string =>
  PerdureError.is(error) ? error.message.replace(/\.$/, '') : String(error)
