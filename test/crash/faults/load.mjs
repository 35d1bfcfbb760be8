// Work for the victims of a fault, while it happens.

import { setTimeout as sleep } from 'node:timers/promises'

/** Kinds that go on whatever happens, and end by themselves. */
export const STEADY = ['chain', 'sleeper', 'queued', 'all', 'writer', 'waiter', 'retried', 'race']

/** So many victims, opened. Each can be told to do more. */
export async function crew(world, size, order = {}) {
  const victims = Array.from({ length: size }, () => world.spawn(order))
  await opened(victims)
  return victims
}

export async function opened(victims) {
  for (const victim of victims) {
    if (!(await victim.hear(({ open }) => open, 60_000)))
      throw new Error(`A victim did not open: ${JSON.stringify(victim.said)}`)
  }
}

/** Asks those that are there to leave. What is wrong: one that did not leave well. */
export async function dismissed(victims, outcome) {
  for (const victim of victims) if (!victim.end) victim.tell({ close: true })
  for (const victim of victims) {
    const hard = setTimeout(() => victim.signal('SIGKILL'), 60_000)
    const { code, signal } = await victim.ended
    clearTimeout(hard)
    if (code !== 0) outcome.broken.push(`a victim did not close by itself: ${code ?? signal}`)
  }
}

/** Those of these runs that no victim has seen end in time. */
export async function unended(victims, runs, ms = 120_000) {
  const until = Date.now() + ms
  const missing = []
  for (const { id } of runs) {
    const isEnd = ({ ended, failed }) => ended === id || failed === id
    const left = Math.max(1, until - Date.now())
    const heard = victims.map(async (victim) => {
      const said = await victim.hear(isEnd, left)
      return said ?? Promise.reject(new Error('nothing'))
    })
    const said = await Promise.any(heard).catch(() => null)
    if (!said?.ended) missing.push(`${id}: no end of it was heard: ${JSON.stringify(said ?? null)}`)
  }
  return missing
}

/** Until it is so, looked at every `everyMs`; false: not in time. */
export async function until(isSo, ms = 30_000, everyMs = 20) {
  for (const end = Date.now() + ms; ; await sleep(everyMs)) {
    if (await isSo()) return true
    if (Date.now() > end) return false
  }
}
