// A stateless run: a kernel of its own on a store in memory, gone when the run has ended. Nothing is written.

import type { FirstMessage, Kernel, KernelEvent, StartRequest } from '../kernel/api.js'
import type { RunId } from '../model/ids.js'
import { shownDocuments } from './documents.js'
import { notHere } from './errors.js'
import { outcomeOf } from './info.js'
import type { Outcome } from './types.js'

export interface Stateless {
  run(request: StartRequest, message: FirstMessage | null): Promise<Outcome>
  close(): Promise<void>
}

export interface MemoryKernel {
  readonly kernel: Kernel
  /** Does this engine have the code of that definition? */
  has(definition: string): boolean
  close(): Promise<void>
}

export function makeStateless(open: () => Promise<MemoryKernel>): Stateless {
  const opened = new Set<MemoryKernel>()
  return {
    async run(request, message) {
      const memory = await open()
      opened.add(memory)
      try {
        return await runOnce(memory, request, message)
      } finally {
        opened.delete(memory)
        await memory.close()
      }
    },
    async close() {
      await Promise.all([...opened].map((memory) => memory.close()))
    },
  }
}

async function runOnce(
  memory: MemoryKernel,
  request: StartRequest,
  message: FirstMessage | null,
): Promise<Outcome> {
  const { kernel } = memory
  const waits = new AbortController()
  const stop = kernel.on((event) => {
    if (waitsForOutside(memory, event)) waits.abort(event)
  })
  let id = request.id ?? ''
  try {
    if (!memory.has(request.definition)) throw notHere(request.definition)
    const started = await (message
      ? kernel.operations.start(request, message, null)
      : kernel.start(request))
    id = started.id
    const to = { workspace: request.workspace, id: started.id }
    const end = await kernel.result(to, waits.signal)
    return outcomeOf(end, await shownDocuments(kernel.read, end.uid))
  } catch (error) {
    if (!waits.signal.aborted) throw error
    const view = await kernel.read.get(request.workspace, id as RunId)
    const documents = view ? await shownDocuments(kernel.read, view.uid) : []
    return { id, status: 'waiting', documents }
  } finally {
    stop()
  }
}

/** The run or a child of it waits for what cannot come: a message from outside, or code that is not here. */
function waitsForOutside(memory: MemoryKernel, event: KernelEvent): boolean {
  if (event.kind === 'waiting') return ['signal', 'event', 'diverged'].includes(event.reason)
  if (event.kind !== 'entry' || event.entry.kind !== 'child.started') return false
  return !memory.has(event.entry.meta?.target ?? '')
}
