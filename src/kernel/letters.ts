// Letters: signals that callers have written in their own transactions. After the commit they are sent on like any
// other, under their ids: carried twice, they arrive once.

import type { Committer } from './commit.js'
import type { Log } from './ports.js'
import type { Answer, Letter, Store } from './store.js'
import { StoreRefused } from './store.js'

const LETTERS_PER_ROUND = 500

type Posted = Letter & { readonly no: number }

export class Letters {
  private readonly store: Store
  private readonly log: Log
  private readonly send: Committer['send']
  private isCarrying = false
  private isMore = false

  constructor(store: Store, log: Log, send: Committer['send']) {
    this.store = store
    this.log = log
    this.send = send
  }

  /** Everything that is there now. Anyone may, at any time. */
  async carry(): Promise<void> {
    this.isMore = true
    if (this.isCarrying) return
    this.isCarrying = true
    try {
      while (this.isMore) {
        this.isMore = false
        await this.round()
      }
    } catch {
      // The database is away; the next round comes.
    }
    this.isCarrying = false
  }

  private async round(): Promise<void> {
    const letters = await this.store.letters(LETTERS_PER_ROUND)
    const arrived: number[] = []
    for (const wave of waves(letters)) {
      const carried = await Promise.all(wave.map((letter) => this.one(letter)))
      for (const [i, { no }] of wave.entries()) if (carried[i]) arrived.push(no)
    }
    if (arrived.length > 0) await this.store.burn(arrived)
    this.isMore ||= letters.length === LETTERS_PER_ROUND && arrived.length > 0
  }

  /** Whether it needs not be carried again. */
  private async one({ to, id, name, payload }: Posted): Promise<boolean> {
    const message = { id, kind: 'signal', name, meta: null, payload } as const
    const answer = await new Promise<Answer | StoreRefused>((resolve) => {
      const delta = { kind: 'message', to, message, claim: false } as const
      this.send(delta, { answered: resolve, refused: resolve })
    })
    if (answer instanceof StoreRefused) {
      this.log.error(`signal "${name}" to run ${to.id} cannot be stored`, { error: answer })
      return true
    }
    if (answer.kind !== 'refused') return true
    if (answer.code === 'MAILBOX_FULL') return false
    this.log.warn(`signal "${name}" came too late for run ${to.id}`, { code: answer.code })
    return true
  }
}

/** The letters to one run go one after another, in the order in which they were written. */
function waves(letters: readonly Posted[]): Posted[][] {
  const counts = new Map<string, number>()
  const result: Posted[][] = []
  for (const letter of letters) {
    const key = `${letter.to.workspace} ${letter.to.id}`
    const wave = counts.get(key) ?? 0
    counts.set(key, wave + 1)
    result[wave] = [...(result[wave] ?? []), letter]
  }
  return result
}
