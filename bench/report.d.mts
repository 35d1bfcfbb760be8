// Types of what the tests use.

export type Figures = Record<string, Record<string, Record<string, number[]>>>

export interface Place {
  readonly measure: string
  readonly system: string
  readonly field: string
}
export interface Goal {
  readonly workload: string
  readonly text?: string
  readonly unit?: string
  readonly why?: string
  readonly value: Place
  readonly to?: Place
  readonly atLeast?: number
  readonly atMost?: number
}
export interface Recorded {
  readonly date: string
  readonly machine: string
  readonly load: number
  readonly cores: number
  readonly versions: readonly string[]
  readonly settings: Readonly<Record<string, string>>
  readonly minutes: number
  readonly rounds: number
  readonly absent: readonly string[]
  /** What was measured on another day than the rest. */
  readonly apart?: Readonly<Record<string, string>>
  readonly figures: Figures
}

export function judge(
  goal: Goal,
  figures: Figures,
): { goal: Goal; ratio: number | null; isMet: boolean | null; missedBy: number }
export function goalTable(figures: Figures): string
export function reasons(figures: Figures): string
export function systemTable(figures: Figures): string
export function ratioTable(figures: Figures): string
export function ownTable(figures: Figures): string
export function statementTable(figures: Figures): string
export function withSpread(values: readonly number[]): string
export function warning(recorded: Pick<Recorded, 'load' | 'cores'>): string
export function page(recorded: Recorded): string
