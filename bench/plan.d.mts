import type { Goal } from './report.mjs'

export const ROUNDS: number
export const GOALS: readonly Goal[]
export const WORKLOADS: Readonly<Record<string, { readonly text: string }>>
export function plan(options: {
  quick: boolean
  only?: string
}): { id: string; systems: string | readonly string[] }[]
