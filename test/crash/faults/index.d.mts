import type { Defect } from '../../../src/kernel/defects.js'

export interface Outcome {
  readonly done: number
  readonly runs: number
  readonly broken: readonly string[]
  readonly figures: Readonly<
    Record<string, { readonly value: number; readonly unit: string; readonly goal: number | null }>
  >
  readonly counters: Readonly<Record<string, number>>
}

/** A file, and what the title of the test contains. */
export type TestName = readonly [file: string, title: string]

export interface Fault {
  readonly id: string
  readonly title: string
  readonly unit: string
  readonly count: number
  readonly short: number
  readonly seconds: number
  readonly checked: string
  /** Cannot be done without it. */
  readonly needs?: 'redis'
  readonly tests?: readonly TestName[]
  run(ground: Ground, count: number): Promise<Outcome>
}

export class Ground {
  constructor(options: {
    readonly url: string
    readonly random: () => number
    readonly isShort?: boolean
  })
  defects: readonly Defect[]
}

export const FAULTS: readonly Fault[]
export const ELSEWHERE: readonly {
  readonly id: string
  readonly title: string
  readonly tests: readonly TestName[]
}[]
