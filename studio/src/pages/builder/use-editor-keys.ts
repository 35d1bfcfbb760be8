// Keys of the editor: undo, redo, save, delete, copy and paste. None while somebody types, or in a dialog.

import { useEffect, useRef } from 'react'
import { wayOf } from '../../diagram/graph.js'
import { edgeId } from '../../diagram/types.js'
import { removeEdge, removeNodes } from './model/edit.js'
import { copied, pasted } from './model/rename.js'
import type { Editor } from './use-editor.js'

const MIME = 'text/plain'

function isElsewhere(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]')) return true
  if (!(target instanceof HTMLElement)) return false
  return ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || target.isContentEditable
}

export function useEditorKeys(editor: Editor, isCanvas: boolean, onSave: () => void): void {
  const latest = useRef({ editor, isCanvas, onSave })
  latest.current = { editor, isCanvas, onSave }
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { editor: now, onSave: save, isCanvas: isHere } = latest.current
      const isMod = event.metaKey || event.ctrlKey
      const key = event.key.toLowerCase()
      if (isMod && key === 's') {
        event.preventDefault()
        if (now.isDirty && now.problems.length === 0) save()
        return
      }
      if (isElsewhere(event.target)) return
      if (isMod && (key === 'z' || key === 'y')) {
        event.preventDefault()
        if (event.shiftKey || key === 'y') now.redo()
        else now.undo()
      }
      if (!isMod && isHere && (event.key === 'Delete' || event.key === 'Backspace')) remove(now)
    }
    const copy = (event: ClipboardEvent): void => {
      const { editor: now, isCanvas: isHere } = latest.current
      const ids = now.selected.filter((id) => now.graph.nodes.some((node) => node.id === id))
      if (!isHere || isElsewhere(event.target) || ids.length === 0) return
      if (getSelection()?.toString()) return
      event.preventDefault()
      event.clipboardData?.setData(MIME, JSON.stringify(copied(now.graph, ids), null, 2))
      if (event.type === 'cut') remove(now)
    }
    const paste = (event: ClipboardEvent): void => {
      const { editor: now, isCanvas: isHere } = latest.current
      if (!isHere || isElsewhere(event.target)) return
      const given = nodesIn(event.clipboardData?.getData(MIME) ?? '')
      if (!given) return
      event.preventDefault()
      const { graph, ids } = pasted(now.graph, given)
      now.change(() => graph)
      now.select(ids)
    }
    addEventListener('keydown', pressed)
    addEventListener('copy', copy)
    addEventListener('cut', copy)
    addEventListener('paste', paste)
    return () => {
      removeEventListener('keydown', pressed)
      removeEventListener('copy', copy)
      removeEventListener('cut', copy)
      removeEventListener('paste', paste)
    }
  }, [])
}

function remove({ selected, graph, change, select }: Editor): void {
  const nodes = selected.filter((id) => graph.nodes.some((node) => node.id === id))
  const edges = graph.edges.filter((edge) =>
    selected.includes(edgeId({ ...edge, label: wayOf(edge) })),
  )
  if (nodes.length + edges.length === 0) return
  change((now) => removeNodes(edges.reduce(removeEdge, now), nodes))
  select([])
}

type Copied = Parameters<typeof pasted>[1]

function nodesIn(text: string): Copied | null {
  try {
    const { nodes, edges } = JSON.parse(text) as Partial<Copied>
    const isWhole =
      Array.isArray(nodes) &&
      nodes.every((node) => typeof node?.id === 'string' && typeof node.type === 'string')
    return isWhole && Array.isArray(edges) ? { nodes, edges } : null
  } catch {
    return null
  }
}
