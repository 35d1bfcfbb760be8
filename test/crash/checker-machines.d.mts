import type { World } from './world.mjs'

/** What of its machines is there in part, at this moment. */
export function halfDone(
  world: World,
): Promise<{ readonly problems: readonly string[]; readonly seen: number }>
