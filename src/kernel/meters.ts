// How large and how long things are, counted in buckets. Adding costs a few comparisons; only a reader sums up.

export interface Distribution {
  /** The upper ends of the buckets; one more bucket is above them. */
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly sum: number
}

class Histogram implements Distribution {
  readonly bounds: readonly number[]
  readonly counts: number[]
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Array<number>(bounds.length + 1).fill(0)
  }

  add(value: number): void {
    const { bounds, counts } = this
    let i = 0
    while (i < bounds.length && value > (bounds[i] ?? 0)) i += 1
    counts[i] = (counts[i] ?? 0) + 1
    this.sum += value
  }
}

/** Definitions come and go where graphs are stored: what is beyond this is counted together. */
const METERED_MAX = 200
const OTHERS = '(others)'

const DELTAS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
const COMMIT_MS = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000]
const STEP_MS = [
  ...[5, 10, 25, 50, 100, 250, 500],
  ...[1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 3_600_000],
]

/** `again`: nobody's failure, as a conflict of transactions. */
export type StepOutcome = 'completed' | 'failed' | 'again'

export class Meters {
  /** What was committed at once. */
  readonly batchDeltas = new Histogram(DELTAS)
  readonly commitMs = new Histogram(COMMIT_MS)
  /** Attempts of steps, by definition. */
  readonly stepMs = new Map<string, Record<StepOutcome, Histogram>>()

  step(definition: string, outcome: StepOutcome, ms: number): void {
    let steps = this.stepMs.get(definition)
    if (!steps && this.stepMs.size >= METERED_MAX && definition !== OTHERS) {
      return this.step(OTHERS, outcome, ms)
    }
    if (!steps) {
      const fresh = () => new Histogram(STEP_MS)
      steps = { completed: fresh(), failed: fresh(), again: fresh() }
      this.stepMs.set(definition, steps)
    }
    steps[outcome].add(ms)
  }
}
