// Other runs, as the steps of a run reach them: the calls of the kernel, each under an id that a repetition has too.

import type { MessageId } from '../model/ids.js'
import type { Outside } from '../model/program.js'
import type { Kernel } from './api.js'

export function outsideOf(kernel: Kernel): Outside {
  return {
    async start({ parent, ...run }) {
      const request = { ...run, priority: 5, delayMs: 0, parent }
      const { uid, id } = await kernel.start(request)
      if (parent === null) return { uid, id, isOurs: false }
      const first = { after: null, limit: 1, newestFirst: false }
      const [created] = await kernel.read.history(uid, first)
      return { uid, id, isOurs: created?.meta?.startedBy === parent.startedBy }
    },
    signal: (to, name, payload, id) => kernel.signal(to, name, payload, id as MessageId),
    cancel: (to, reason, id) => kernel.cancel(to, reason, id as MessageId),
    look: async ({ workspace, id }) => (await kernel.read.get(workspace, id))?.definition ?? null,
  }
}
