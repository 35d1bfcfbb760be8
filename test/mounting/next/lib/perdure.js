// One engine for the process: Next loads modules anew when they change.

import { createEngine, workflow } from 'perdure'
import { createHandler } from 'perdure/http'

const echo = workflow('echo', async (wf, word) => wf.do('say', () => word))

async function open() {
  const engine = await createEngine({ workflows: [echo], database: 'memory:' })
  return createHandler(engine, { open: true, basePath: '/perdure' })
}

export async function handler(request) {
  globalThis.perdure ??= open()
  const handle = await globalThis.perdure
  return handle(request)
}
