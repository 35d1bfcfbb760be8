// What can be wrong with a run of a graph.

import { PerdureError, shown } from '../../model/errors.js'

/** A node of a run. */
interface At {
  readonly node: { readonly id: string }
  readonly turn: { readonly run: { readonly id: string } }
}

const at = ({ node, turn }: At) => ({ runId: turn.run.id, step: node.id })

export const noBranch = (of: At, value: unknown): PerdureError =>
  new PerdureError(
    'NO_BRANCH',
    `Node "${of.node.id}": no case is equal to ${shown(value)}, and there is no way "default".`,
    { hint: 'add a case, or an edge with when: "default"', ...at(of) },
  )

export const nodeTypeUnknown = (of: At, type: string): PerdureError =>
  new PerdureError(
    'NODE_TYPE_UNKNOWN',
    `Node "${of.node.id}" is of type "${type}", which this engine does not have.`,
    { hint: 'register it: createEngine({ nodeTypes: [ … ] })', ...at(of) },
  )

export const loopTooLong = (of: At, most: number): PerdureError =>
  new PerdureError('LOOP_TOO_LONG', `Loop "${of.node.id}" has more than ${most} rounds.`, {
    hint: 'give it fewer items, a condition that ends, or "most"',
    ...at(of),
  })

export const waitedInVain = (of: At, what: string): PerdureError =>
  new PerdureError('WAIT_TIMED_OUT', `Node "${of.node.id}" waited for ${what} in vain.`, {
    hint: 'add an edge with when: "timeout", or put the node into a try-catch',
    ...at(of),
  })

export const httpRefused = (
  of: At,
  { method, url }: { readonly method: string; readonly url: string },
  { status, body }: { readonly status: number; readonly body: unknown },
): PerdureError =>
  new PerdureError(
    'HTTP_STATUS',
    `Node "${of.node.id}": ${method} ${url} was answered with ${status}.`,
    {
      hint: 'give the node a retry, or put it into a try-catch; details.body is what was answered',
      ...at(of),
      details: { status, body: shown(body) },
    },
  )
