// What is below the pointer while something is dragged over a diagram.

export type Target =
  | { readonly on: 'edge'; readonly id: string }
  | { readonly on: 'node'; readonly id: string }
  | { readonly on: 'box'; readonly id: string; readonly isHandler: boolean }
  | { readonly on: 'canvas' }

interface Found {
  readonly target: Target
  readonly element: Element | null
}

/** `except`: what is being dragged, with all that is inside of it. */
export function targetAt(x: number, y: number, except: ReadonlySet<string> = new Set()): Found {
  for (const element of document.elementsFromPoint(x, y)) {
    const node = element.closest<HTMLElement>('.react-flow__node')
    const edge = element.closest<HTMLElement>('.react-flow__edge')
    if (edge?.dataset.id !== undefined) {
      return { target: { on: 'edge', id: edge.dataset.id }, element: edge }
    }
    const id = node?.dataset.id
    if (node === null || id === undefined || except.has(id)) continue
    if (node.querySelector('.diagram-box') === null) {
      return { target: { on: 'node', id }, element: node }
    }
    const zone = element.closest<HTMLElement>('.diagram-zone')
    const isHandler = zone?.dataset.zone === 'handler'
    return { target: { on: 'box', id, isHandler }, element: zone ?? node }
  }
  return { target: { on: 'canvas' }, element: null }
}

let lit: Element | null = null

/** Shows where it would go. */
export function light(element: Element | null): void {
  if (lit === element) return
  lit?.classList.remove('is-over')
  element?.classList.add('is-over')
  lit = element
}
