import { describe, expect, test } from 'vitest'
import { faultPoints } from './points.mjs'
import { storm, undisturbed, verdict } from './storm.mjs'
import { embeddedWorld } from './world.mjs'

/** Asked only when the answer to a commit was lost on the way: there is no way to lose it on here. */
const NEEDS_A_NETWORK = ['resolve.before', 'resolve.after']
const WORLDS = 2

describe('a process killed at every point of the kernel, on the embedded database,', () => {
  test('[X01] leaves every run to the next process, which ends it as an undisturbed one', async () => {
    const points = faultPoints().filter((point) => !NEEDS_A_NETWORK.includes(point))
    await using calm = await embeddedWorld()
    const { normal, problems } = await undisturbed(calm)
    expect(problems).toEqual([])

    const startedAt = performance.now()
    const killed = new Map<string, number>()
    // Two directories side by side, each with one process at a time.
    const side = async (at: number): Promise<void> => {
      // With the shorter lease beats come late now and then, behind the work: nothing may depend on that.
      await using world = await embeddedWorld({ leaseMs: at === 0 ? 10_000 : 600 })
      const plan = points.filter((_, i) => i % WORLDS === at).map((point) => ({ point, hit: 1 }))
      const { kills } = await storm(world, plan, { slots: 1, calm: false, newRuns: 1 })
      for (const [point, count] of kills) killed.set(point, count)
      expect(await verdict(world, normal, { victims: 1, withinMs: 180_000 })).toEqual([])
    }
    await Promise.all(Array.from({ length: WORLDS }, (_, at) => side(at)))
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.log(`embedded: ${killed.size} points killed in ${seconds} s`)
    expect(points.filter((point) => !killed.get(point))).toEqual([])
  })
})
