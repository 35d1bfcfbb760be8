// The builder: it is run once, and what comes out is the JSON of a graph. Each verb appends a node behind the one before it, in
// the branch in which it is called.

import { optionInvalid, PerdureError } from '../../model/errors.js'
import { madeOf, refName } from '../definition.js'
import { plain, refTo } from './cel.js'
import type { GraphBuilder, GraphJson } from './types.js'

type Node = {
  id: string
  type: string
  config?: object
  parent?: string
  [option: string]: unknown
}
type Edge = { from: string; to: string; when?: string | boolean }
/** Where the next node is joined on: several, behind a fork or a condition. */
type Tail = { readonly from: string; readonly when?: string | boolean }

/** Gives the nodes, the edges, and what the build gave back as the output. */
export function buildGraph(
  build: (g: GraphBuilder<unknown>) => unknown,
): Pick<GraphJson, 'nodes' | 'edges' | 'output'> {
  const builder = new Builder()
  const output = build(builder as unknown as GraphBuilder<unknown>)
  const { nodes, edges } = builder
  const json = { nodes, edges, ...(output !== undefined && { output: plain(output) }) }
  return json as Pick<GraphJson, 'nodes' | 'edges' | 'output'>
}

class Builder {
  readonly nodes: Node[] = []
  readonly edges: Edge[] = []
  readonly input = refTo('input')
  private tails: readonly Tail[] = [{ from: 'trigger' }]
  private parent: string | null = null

  node(id: string, type: string, config?: object, options: object = {}): unknown {
    this.append(id, type, config, options)
    return refTo(id)
  }

  do(id: string, target: unknown, input?: unknown, options: object = {}): unknown {
    const made = madeOf(target)
    const name = made?.name ?? refName(target) ?? target
    if (typeof name !== 'string') {
      throw optionInvalid('target', `g.do("${id}")`, target, 'a definition, or the name of one')
    }
    const type = made === null || made.kind === 'task' ? 'task' : 'workflow'
    this.append(id, type, { [type]: name, ...(input !== undefined && { input }) }, options)
    return refTo(id)
  }

  set(id: string, variables: Readonly<Record<string, unknown>>): unknown {
    this.append(id, 'set', variables)
    return Object.fromEntries(Object.keys(variables).map((name) => [name, refTo(name)]))
  }

  http(id: string, config: object, options: object = {}): unknown {
    this.append(id, 'http', config, options)
    return refTo(id)
  }

  emit(id: string, event: string, payload?: unknown): void {
    this.append(id, 'emit', { event, ...(payload !== undefined && { payload }) })
  }

  delay(id: string, duration: unknown): void {
    this.append(id, 'delay', { for: duration })
  }

  condition(id: string, when: unknown, branches: Readonly<Record<string, unknown>>): void {
    this.append(id, 'condition', { if: when })
    const { then: yes, else: no } = branches
    this.branches([
      [{ from: id, when: true }, yes],
      [{ from: id, when: false }, no],
    ])
  }

  switch(
    id: string,
    on: unknown,
    cases: Readonly<Record<string, unknown>>,
    otherwise?: unknown,
  ): void {
    const names = Object.keys(cases)
    this.append(id, 'switch', { on, cases: names.map((name) => ({ name, is: name })) })
    this.branches([
      ...names.map((name) => [{ from: id, when: name }, cases[name]] as const),
      [{ from: id, when: 'default' }, otherwise],
    ])
  }

  fork(id: string, branches: Readonly<Record<string, unknown>>): unknown {
    this.append(id, 'fork')
    const given = this.branches(Object.values(branches).map((body) => [{ from: id }, body]))
    return Object.fromEntries(Object.keys(branches).map((name, i) => [name, given[i]]))
  }

  waitForEvent(
    id: string,
    event: string,
    options: Readonly<Record<string, unknown>> = {},
  ): unknown {
    const { match, timeout } = options
    const config = { mode: 'event', event, ...(match !== undefined && { match }) }
    this.append(id, 'wait-for-event', config, timeout === undefined ? {} : { timeout })
    return refTo(id)
  }

  waitUntil(id: string, condition: unknown, options: Readonly<Record<string, unknown>> = {}): void {
    const { timeout, ...more } = options
    const config = { mode: 'condition', if: condition, ...more }
    this.append(id, 'wait-for-event', config, timeout === undefined ? {} : { timeout })
  }

  retry(id: string, policy: object, body: () => unknown): unknown {
    this.append(id, 'retry', policy)
    return this.inside(id, [], body)
  }

  tryCatch(id: string, body: () => unknown, handler?: (error: unknown) => unknown): unknown {
    this.append(id, 'try-catch')
    const given = this.inside(id, [], body)
    if (handler) this.inside(id, [{ from: id, when: 'catch' }], () => handler(refTo('error')))
    return given
  }

  loop(
    id: string,
    items: unknown,
    body: (item: unknown) => unknown,
    options: Readonly<Record<string, unknown>> = {},
  ): void {
    const { as = 'item' } = options
    this.append(id, 'loop', { items, ...options })
    this.inside(id, [], () => body(refTo(String(as))))
  }

  onError(id: string, handler: (error: unknown) => unknown): void {
    if (this.parent !== null) {
      throw new PerdureError(
        'DEFINITION_INVALID',
        `g.onError("${id}") is called inside "${this.parent}".`,
        {
          hint: 'a graph has one on-error, at its top; use g.tryCatch inside',
        },
      )
    }
    const { tails } = this
    this.tails = []
    this.append(id, 'on-error')
    handler(refTo('error'))
    this.tails = tails
  }

  private append(id: string, type: string, config: object = {}, options: object = {}): void {
    const { parent } = this
    const filled = plain(config) as object
    this.nodes.push({
      id,
      type,
      ...(Object.keys(filled).length > 0 && { config: filled }),
      ...(parent !== null && { parent }),
      ...options,
    })
    for (const { from, when } of this.tails) {
      this.edges.push({ from, to: id, ...(when !== undefined && { when }) })
    }
    this.tails = [{ from: id }]
  }

  /** What comes next is joined on to the end of each. */
  private branches(all: readonly (readonly [Tail, unknown])[]): unknown[] {
    const ends: Tail[] = []
    const given = all.map(([tail, body]) => {
      this.tails = [tail]
      const value: unknown = typeof body === 'function' ? body() : undefined
      ends.push(...this.tails)
      return value
    })
    this.tails = ends
    return given
  }

  private inside(id: string, tails: readonly Tail[], body: () => unknown): unknown {
    const { parent } = this
    this.parent = id
    this.tails = tails
    const given = body()
    this.parent = parent
    this.tails = [{ from: id }]
    return given
  }
}
