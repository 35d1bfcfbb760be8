// The residents of this process (resident.ts), by the names and uids of their runs.
//
// Invariant K4: they are bounded in number and in bytes, as kept frames are (K3); one that has been used since room was last looked for
// stays. One that is gone is found by its name until what was on its way is answered: what comes for its run waits for that.

import { ByRun } from '../model/by-run.js'
import type { RunId, Uid } from '../model/ids.js'
import { FRAME_BYTES_MAX } from '../model/limits.js'
import type { Counters } from './counters.js'
import type { Resident } from './resident.js'

interface Named {
  readonly workspace: string
  readonly id: RunId
}

export class Residents {
  private readonly byName = new ByRun<Resident>()
  private readonly byUid = new Map<Uid, Resident>()
  private readonly max: number
  private readonly counters: Counters
  private bytes = 0
  /** Its senders are to be told. */
  private readonly lost: (resident: Resident) => void

  constructor(max: number, counters: Counters, lost: (resident: Resident) => void) {
    this.max = max
    this.counters = counters
    this.lost = lost
  }

  of(at: Named): Resident | null {
    return this.byName.get(at) ?? null
  }

  has(uid: Uid): Resident | null {
    return this.byUid.get(uid) ?? null
  }

  add(resident: Resident): void {
    this.byName.set(resident.run, resident)
    this.byUid.set(resident.run.uid, resident)
    this.bytes += resident.bytes
    this.makeRoom()
  }

  /** It has another size. */
  grown(resident: Resident, before: number): void {
    if (resident.isGone) return
    this.bytes += resident.bytes - before
    if (this.bytes > FRAME_BYTES_MAX) this.makeRoom()
  }

  /** It does not go on here. */
  leave(resident: Resident): void {
    if (this.byUid.get(resident.run.uid) === resident) {
      this.byUid.delete(resident.run.uid)
      this.bytes -= resident.bytes
    }
    if (!resident.isOnItsWay) this.forget(resident)
    this.lost(resident)
  }

  /** Nothing of it is on its way any more. */
  forget(resident: Resident): void {
    const { run } = resident
    if (this.byName.get(run) === resident) this.byName.delete(run)
  }

  /** This incarnation is over. */
  leaveAll(): void {
    for (const resident of [...this.byUid.values()]) this.leave(resident)
  }

  private get isFull(): boolean {
    return this.byUid.size > this.max || this.bytes > FRAME_BYTES_MAX
  }

  private makeRoom(): void {
    let looks = 2 * this.byUid.size
    for (const [uid, resident] of this.byUid) {
      if (!this.isFull || this.byUid.size === 1 || looks === 0) return
      looks -= 1
      if (resident.isUsed || resident.isSpeaking || resident.isOnItsWay) {
        resident.isUsed = false
        // Behind all others, and looked at again if those stay as well.
        this.byUid.delete(uid)
        this.byUid.set(uid, resident)
      } else {
        this.counters['frame.evicted'] += 1
        this.leave(resident)
      }
    }
  }
}
