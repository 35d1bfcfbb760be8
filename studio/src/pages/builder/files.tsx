// A graph as a file: out of the editor, and into it.

import { useRef } from 'react'
import { IconButton } from '../../ui/button.js'
import { refused, said } from '../../ui/toast.js'
import { readGraph } from './json-tab.js'
import { useEditing } from './use-editor.js'

export function Files() {
  const { graph, change } = useEditing()
  const input = useRef<HTMLInputElement>(null)
  const read = async (file: File | undefined): Promise<void> => {
    if (!file) return
    try {
      const given = readGraph(await file.text())
      change(() => ({ ...given, id: graph.id }))
      said(`${file.name} is on the canvas. Undo takes it back.`)
    } catch (error) {
      refused(error)
    }
  }
  return (
    <>
      <IconButton label="Import a file" icon="upload" onClick={() => input.current?.click()} />
      <IconButton label="Export as a file" icon="download" onClick={() => download(graph)} />
      <input
        ref={input}
        type="file"
        accept="application/json,.json"
        hidden
        aria-label="A file with a graph"
        onChange={({ target }) => {
          void read(target.files?.[0])
          target.value = ''
        }}
      />
    </>
  )
}

function download(graph: { readonly id: string }): void {
  const text = `${JSON.stringify(graph, null, 2)}\n`
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${graph.id}.json`
  link.click()
  URL.revokeObjectURL(url)
}
