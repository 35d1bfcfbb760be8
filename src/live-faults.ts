// Fault points for crash tests. Loaded only when PERDURE_FAULT or PERDURE_FAULT_COUNT is set.
//
//   PERDURE_FAULT=point:hit[:action]   acts at the n-th hit of that point; action: kill (default) or stop
//   PERDURE_FAULT_COUNT=<file>         appends "point count" lines when the process exits

import { appendFileSync } from 'node:fs'

export function makeFault(
  env: Readonly<Record<string, string | undefined>>,
): (point: string) => void {
  const plan = env.PERDURE_FAULT ? readPlan(env.PERDURE_FAULT) : null
  const counts = new Map<string, number>()
  const file = env.PERDURE_FAULT_COUNT
  if (file) {
    process.on('exit', () => {
      const lines = [...counts].map(([point, count]) => `${point} ${count}\n`)
      appendFileSync(file, lines.join(''))
    })
  }
  return (point) => {
    const hit = (counts.get(point) ?? 0) + 1
    counts.set(point, hit)
    if (plan?.point === point && plan.hit === hit) process.kill(process.pid, plan.signal)
  }
}

function readPlan(text: string): { point: string; hit: number; signal: 'SIGKILL' | 'SIGSTOP' } {
  const found = /^(.+?):(\d+)(?::(kill|stop))?$/.exec(text)
  if (!found?.[1]) throw new Error(`PERDURE_FAULT=${text}: expected point:hit or point:hit:action`)
  return {
    point: found[1],
    hit: Number(found[2]),
    signal: found[3] === 'stop' ? 'SIGSTOP' : 'SIGKILL',
  }
}
