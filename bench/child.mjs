// One measurement in a process of its own: nobody runs on the garbage of another. Told what to do by a message, answers
// with one, and is then ended by its parent; ends by itself if the parent is gone.

import { SYSTEMS } from './systems.mjs'

process.on('disconnect', () => process.exit(1))
process.once('message', ({ system, workload, options }) => {
  measure(system, workload, options).then(
    (result) => process.send({ result }),
    (error) => process.send({ error: String(error?.stack ?? error) }),
  )
})

async function measure(system, workload, options) {
  if (system === 'perdure') {
    const { only } = await import('./perdure-only.mjs')
    if (only[workload]) return only[workload](options)
  }
  const adapter = await import(SYSTEMS[system].adapter)
  if (workload === 'describe') {
    return { can: SYSTEMS[system].can ?? adapter.can, settings: adapter.settings }
  }
  const opened = await adapter.open({ ...options, ...SYSTEMS[system].options })
  const widthMax = (SYSTEMS[system].packages && options.peerWidthMax) ?? adapter.width
  const load = { ...options, width: Math.min(adapter.width, widthMax) }
  if (opened[workload]) return opened[workload](load)
  const { statements } = await import('./statements.mjs')
  const { workloads } = await import('./workloads.mjs')
  return (workload === 'statements' ? statements : workloads[workload])(opened, load)
}
