// What holds a run up that asks for a slot, and all limits as people see them.

import type { LimitedRun, LimitUse, NamedRules, RunReader, RunView } from '../kernel/store.js'
import type { LimitInfo, LimitRuns } from './limit-types.js'

/** So many of those that have a slot are named. */
const NAMED_MAX = 3

export async function limits(read: RunReader): Promise<readonly LimitInfo[]> {
  const [rules, uses] = await Promise.all([read.limitRules(), read.limitUse()])
  const idle = rules
    .filter((rule) => !uses.some((use) => isOf(use, rule)))
    .map(({ definition }) => ({ kind: 'definition' as const, definition, name: '', ...NOBODY }))
  return [...idle, ...uses].flatMap((use) => {
    const info = infoOf(use, rules)
    return info.limit === null && info.rate === null ? [] : [info]
  })
}

const NOBODY = { used: 0, asking: 0 }

const isOf = ({ kind, definition }: LimitUse, rule: NamedRules): boolean =>
  kind === 'definition' && definition === rule.definition

function infoOf(use: LimitUse, rules: readonly NamedRules[]): LimitInfo {
  const { kind, definition, name, used, asking: waiting } = use
  const own = rules.find((rule) => rule.definition === definition)
  const [limit, rate] =
    kind === 'workspace'
      ? [smallest(rules), null]
      : kind === 'key'
        ? [own?.perKey ?? null, own?.keyRate ?? null]
        : [own?.concurrency ?? null, own?.rate ?? null]
  const workflow = kind === 'workspace' ? null : definition
  return { kind, workflow, name: name === '' ? null : name, limit, rate, used, waiting }
}

function smallest(rules: readonly NamedRules[]): number | null {
  const limits = rules.flatMap(({ perWorkspace }) => (perWorkspace === null ? [] : [perWorkspace]))
  return limits.length === 0 ? null : Math.min(...limits)
}

const RUNS_MAX = 20

/** As `limits` names it. */
export async function limitRuns(
  read: RunReader,
  { kind, workflow, name }: Pick<LimitInfo, 'kind' | 'workflow' | 'name'>,
): Promise<LimitRuns> {
  const where = {
    definition: workflow ?? '',
    workspace: kind === 'workspace' ? (name ?? '') : '',
    key: kind === 'key' ? (name ?? '') : '',
  }
  const [holders, waiters] = await Promise.all([
    read.holders(where, RUNS_MAX),
    read.askers(where, RUNS_MAX),
  ])
  const told = ({ id, workspace, definition, since }: LimitedRun) => {
    return { id, workflow: definition, workspace, since: new Date(since) }
  }
  return { holders: holders.map(told), waiters: waiters.map(told) }
}

/** Why a run has no slot: a sentence without its beginning. */
export async function whyNoSlot(read: RunReader, view: RunView): Promise<string> {
  const { definition, workspace, limits: counted } = view
  const [rules, uses] = await Promise.all([read.limitRules(), read.limitUse()])
  const rule = rules.find((one) => one.definition === definition)
  if (!rule || !counted) return 'it gets one soon'
  const usedBy = (kind: LimitUse['kind'], name: string): number =>
    uses.find(
      (use) =>
        use.kind === kind &&
        use.name === name &&
        (kind === 'workspace' || use.definition === definition),
    )?.used ?? 0
  const full = (most: number | null, used: number): boolean => most !== null && used >= most
  if (full(rule.concurrency, usedBy('definition', ''))) {
    const ids = await read.holders({ definition, workspace: '', key: '' }, NAMED_MAX + 1)
    return `limit ${rule.concurrency} of "${definition}", held by ${listed(ids)}`
  }
  if (counted.workspace !== '' && full(rule.perWorkspace, usedBy('workspace', workspace))) {
    const ids = await read.holders({ definition: '', workspace, key: '' }, NAMED_MAX + 1)
    return `limit ${rule.perWorkspace} of workspace "${workspace}", held by ${listed(ids)}`
  }
  const { key } = counted
  if (key !== '' && full(rule.perKey, usedBy('key', key))) {
    const ids = await read.holders({ definition, workspace: '', key }, NAMED_MAX + 1)
    return `limit ${rule.perKey} of "${definition}" for key "${key}", held by ${listed(ids)}`
  }
  const rate = rule.rate ?? rule.keyRate
  if (rate === null || view.startedAt !== null) return 'it gets one soon'
  return `"${definition}" may begin ${rate.runs} runs in ${rate.perMs / 1000} s`
}

function listed(ids: readonly LimitedRun[]): string {
  const named = ids
    .slice(0, NAMED_MAX)
    .map(({ id }) => id)
    .join(', ')
  return ids.length > NAMED_MAX ? `${named} and others` : named
}
