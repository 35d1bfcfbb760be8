// The faults of the soak, in the order in which it does them.

import { crowds, lostRaces, readOnly, restarts } from './database.mjs'
import { ELSEWHERE } from './elsewhere.mjs'
import { embeddedKills } from './embedded.mjs'
import { Ground } from './ground.mjs'
import { lostHints, partialCode, repeatedHints } from './hints.mjs'
import { cancels, clicks, tightSignals } from './people.mjs'
import { blocked, clocks, kills, outOfMemory, stops, zombies } from './processes.mjs'
import { flushes } from './redis.mjs'
import { timers } from './timers.mjs'
import { holes, lostAnswers, lostCommits, slowness } from './wire.mjs'

export { ELSEWHERE, Ground }

/** @type {import('./index.d.mts').FAULTS} */
export const FAULTS = [
  ...[kills, stops, restarts, lostCommits, lostAnswers, holes, zombies, blocked, clocks],
  ...[
    repeatedHints,
    lostHints,
    flushes,
    partialCode,
    slowness,
    crowds,
    lostRaces,
    readOnly,
    timers,
  ],
  ...[cancels, tightSignals, clicks, embeddedKills, outOfMemory],
].sort((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)))
