// Limits of the store in memory, as admit_v2 does it: in rounds, each with the counts of then.

import type {
  Admitted,
  Claimed,
  LimitPlace,
  LimitUse,
  NamedRules,
  NewRun,
  Worker,
} from '../kernel/store.js'
import type { LimitRules, Rate } from '../model/admission.js'
import type { WorkerId } from '../model/ids.js'
import { CRASHES_SUSPECT } from '../model/limits.js'
import type { Instant } from '../model/run.js'
import { hasCode, type MemoryRun, own, setDue } from './memory-run.js'

interface Tables {
  openRuns(): Iterable<MemoryRun>
  readonly workers: ReadonlyMap<WorkerId, { readonly worker: Worker; readonly leaseUntil: Instant }>
  now(): Instant
}

interface Order {
  readonly isSweep: boolean
  /** The limits hold. */
  readonly counts: boolean
  /** Who takes what it gives slots to, and how many of them. */
  readonly by: Worker | null
  readonly places: number
}

/** A slot that nobody alive could use is taken back after so long: a worker may just be joining. */
const IN_VAIN_MS = 10_000
const UNLIMITED = Number.POSITIVE_INFINITY

interface Candidate {
  readonly row: MemoryRun
  readonly room: Room
  turn: number
}

/** How many more fit. */
interface Room {
  readonly definition: number
  readonly workspace: number
  readonly key: number
}

export class MemorySlots {
  private readonly rules = new Map<string, LimitRules>()
  private readonly times = new Map<string, Instant[]>()

  /** Whoever joins last says what holds. */
  declare({ definitions }: Worker): void {
    for (const { name, limits, isStored } of definitions) {
      if (isStored) continue
      if (limits) this.rules.set(name, limits)
      else this.rules.delete(name)
    }
  }

  /** Of a stored definition. */
  say(definition: string, rules: LimitRules | null): void {
    if (rules) this.rules.set(definition, rules)
  }

  rulesOf(definition: string): LimitRules | null {
    return this.rules.get(definition) ?? null
  }

  named(): NamedRules[] {
    const all = [...this.rules].map(([definition, rules]) => ({ definition, ...rules }))
    return all.sort((a, b) => (a.definition < b.definition ? -1 : 1))
  }

  admit(tables: Tables, { isSweep, counts, by, places }: Order): Admitted {
    const now = tables.now()
    const rows = [...tables.openRuns()]
    const isTakeable = (row: MemoryRun): boolean =>
      [...tables.workers.values()].some(
        ({ worker, leaseUntil }) =>
          leaseUntil > now && hasCode(worker, row) && !row.divergedBuilds.includes(worker.build),
      )
    const asking = (row: MemoryRun): boolean => isAsking(row, now)
    let admitted = 0
    const claimed: Claimed[] = []
    // What somebody with another build may take up again.
    for (const row of rows
      .filter((one) => asking(one) && isDiverged(one) && isTakeable(one))
      .sort(byAge)) {
      const room = this.room(row, rows, now)
      if (Math.min(room.definition, room.workspace, room.key) < 1) continue
      this.give(row, now)
      admitted += 1
    }
    if (isSweep) this.takeBack(rows, isTakeable, now)
    for (let isMore = true; isMore; ) {
      const waiting = rows.filter((row) => asking(row) && !isDiverged(row))
      const picked = counts ? this.pick(waiting, rows, now) : waiting
      for (const row of picked.toSorted(byPriority)) {
        this.give(row, now)
        const isTaken = by !== null && claimed.length < places && isFor(by, row)
        if (isTaken) claimed.push(own(row, by, now))
      }
      admitted += picked.length
      isMore = picked.length > 0
    }
    const nextAt = this.nextAt(rows, now)
    return { now, admitted, claimed, nextAt, isStart: true, isEnd: true }
  }

  private pick(
    waiting: readonly MemoryRun[],
    rows: readonly MemoryRun[],
    now: Instant,
  ): MemoryRun[] {
    const candidates = waiting.map((row) => ({ row, room: this.room(row, rows, now), turn: 0 }))
    const fitting = grouped(candidates.sort(byRank), ({ row }) => groupOf(row)).flatMap((group) => {
      const { definition = 0, workspace = 0, key = 0 } = group[0]?.room ?? {}
      const most = Math.min(definition, workspace, key)
      return most > 0 ? group.slice(0, most) : []
    })
    for (const group of grouped(fitting.sort(byRank), ({ row }) => whoseOf(row))) {
      const first = group[0]
      const held = first ? heldBy(first.row, rows) : 0
      for (const [i, one] of group.entries()) one.turn = held + i + 1
    }
    fitting.sort(byTurn)
    const counters = new Map<string, number>()
    const place = (name: string): number => {
      counters.set(name, (counters.get(name) ?? 0) + 1)
      return counters.get(name) ?? 0
    }
    const picked = fitting.filter(({ row, room }) => {
      const { definition, limits } = row.run
      const inDefinition = place(`d ${definition}`) <= room.definition
      const inWorkspace = place(`w ${limits?.workspace}`) <= room.workspace
      const inKey = place(`k ${definition} ${limits?.key}`) <= room.key
      return inDefinition && inWorkspace && inKey
    })
    return picked.map(({ row }) => row)
  }

  private room(row: MemoryRun, rows: readonly MemoryRun[], now: Instant): Room {
    const { definition, limits } = row.run
    const rules = this.rules.get(definition)
    const { workspace = '', key = '' } = limits ?? {}
    const left = (most: number | null | undefined, where: Parameters<typeof holdersOf>[1]) =>
      most == null ? UNLIMITED : most - holdersOf(rows, where).length
    const isFresh = row.epoch === 0
    const ofKey = key === '' ? UNLIMITED : left(rules?.perKey, { definition, workspace: '', key })
    const tokens = isFresh ? this.tokens(rules?.rate, definition, '', now) : UNLIMITED
    const tokensOfKey =
      isFresh && key !== '' ? this.tokens(rules?.keyRate, definition, key, now) : UNLIMITED
    return {
      definition: Math.min(
        left(rules?.concurrency, { definition, workspace: '', key: '' }),
        tokens,
      ),
      workspace:
        workspace === ''
          ? UNLIMITED
          : left(rules?.perWorkspace, { definition: '', workspace, key: '' }),
      key: Math.min(ofKey, tokensOfKey),
    }
  }

  private tokens(
    rate: Rate | null | undefined,
    definition: string,
    key: string,
    now: Instant,
  ): number {
    if (!rate) return UNLIMITED
    const times = this.times.get(`${definition} ${key}`) ?? []
    return rate.runs - times.filter((at) => at > now - rate.perMs).length
  }

  private give(row: MemoryRun, now: Instant): void {
    const { definition, limits } = row.run
    const rules = this.rules.get(definition)
    if (row.epoch === 0 && rules) {
      if (rules.rate) this.note(rules.rate, definition, '', now)
      if (rules.keyRate && limits?.key) this.note(rules.keyRate, definition, limits.key, now)
    }
    const counted = rules && (rules.concurrency ?? rules.perWorkspace ?? rules.perKey) !== null
    row.slot = counted || isDiverged(row) ? true : null
    row.dueAt = row.asksAt
    row.asksAt = null
    row.updatedAt = now
  }

  private note(rate: Rate, definition: string, key: string, now: Instant): void {
    const name = `${definition} ${key}`
    const recent = (this.times.get(name) ?? []).filter((at) => at > now - rate.perMs)
    this.times.set(name, [...recent, now])
  }

  private takeBack(
    rows: readonly MemoryRun[],
    isTakeable: (row: MemoryRun) => boolean,
    now: Instant,
  ): void {
    const asked = new Set(
      rows.filter((row) => row.asksAt !== null).map(({ run }) => run.definition),
    )
    for (const row of rows) {
      const isIdle = row.slot && row.owner === null && row.stop === null
      if (!isIdle || row.dueAt === null || row.dueAt > now || !asked.has(row.run.definition))
        continue
      if (row.updatedAt >= now - IN_VAIN_MS || isTakeable(row)) continue
      row.slot = false
      row.dueAt = null
      row.asksAt = now
    }
  }

  private nextAt(rows: readonly MemoryRun[], now: Instant): Instant | null {
    const times: Instant[] = []
    for (const row of rows) {
      if (row.asksAt === null || row.owner !== null || row.stop !== null || isDiverged(row))
        continue
      if (row.asksAt > now) times.push(row.asksAt)
      const { definition, limits } = row.run
      const rules = this.rules.get(definition)
      if (row.epoch > 0 || !rules) continue
      times.push(...this.tokenAt(rules.rate, definition, '', now))
      times.push(
        ...this.tokenAt(limits?.key ? rules.keyRate : null, definition, limits?.key ?? '', now),
      )
    }
    return times.length === 0 ? null : Math.min(...times)
  }

  private tokenAt(rate: Rate | null, definition: string, key: string, now: Instant): Instant[] {
    const times = this.times.get(`${definition} ${key}`) ?? []
    const oldest = rate && times.at(-Math.min(rate.runs, times.length))
    const at = rate && oldest != null ? oldest + rate.perMs : now
    return at > now ? [at] : []
  }
}

/** A run that has never run begins later, with another input. */
export function pushBack(
  row: MemoryRun,
  { input, delayMs, timeoutMs, limits }: NewRun,
  now: Instant,
): void {
  const at = now + delayMs
  row.updatedAt = now
  row.deadlineAt = timeoutMs === null ? null : at + timeoutMs
  row.slot = limits ? false : null
  row.run = { ...row.run, input, limits: limits ?? null }
  const [created] = row.journal
  if (created) row.journal[0] = { ...created, payload: input }
  setDue(row, at)
}

export function holdersOf(rows: Iterable<MemoryRun>, where: LimitPlace): MemoryRun[] {
  return [...rows].filter((row) => row.slot === true && isCounted(row, where))
}

/** Those that ask for a slot there, the longest asking first. */
export function askersOf(rows: Iterable<MemoryRun>, where: LimitPlace, now: Instant): MemoryRun[] {
  return [...rows]
    .filter((row) => isAsking(row, now) && !isDiverged(row) && isCounted(row, where))
    .sort(byAge)
}

const isCounted = ({ run }: MemoryRun, where: LimitPlace): boolean =>
  (where.definition === '' || run.definition === where.definition) &&
  (where.workspace === '' || run.limits?.workspace === where.workspace) &&
  (where.key === '' || run.limits?.key === where.key)

export function useOf(rows: Iterable<MemoryRun>, now: Instant): LimitUse[] {
  const uses = new Map<string, LimitUse>()
  for (const row of rows) {
    const used = row.slot === true ? 1 : 0
    const asks = isAsking(row, now) && !isDiverged(row) ? 1 : 0
    if (used + asks === 0) continue
    const { definition, limits } = row.run
    const places = [
      { kind: 'definition', definition, name: '' },
      ...(limits?.workspace ? [{ kind: 'workspace', definition: '', name: limits.workspace }] : []),
      ...(limits?.key ? [{ kind: 'key', definition, name: limits.key }] : []),
    ] as const
    for (const place of places) {
      const known = `${place.kind} ${place.definition} ${place.name}`
      const before = uses.get(known) ?? { ...place, used: 0, asking: 0 }
      const more = { used: before.used + used, asking: before.asking + asks }
      uses.set(known, { ...(before as LimitUse), ...more })
    }
  }
  return [...uses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, use]) => use)
}

function isAsking({ owner, stop, slot, asksAt }: MemoryRun, now: Instant): boolean {
  return owner === null && stop === null && slot === false && asksAt !== null && asksAt <= now
}

const isDiverged = ({ divergedBuilds }: MemoryRun): boolean => divergedBuilds.length > 0

function heldBy({ run }: MemoryRun, rows: readonly MemoryRun[]): number {
  const { workspace = '', key = '' } = run.limits ?? {}
  if (key !== '') return holdersOf(rows, { definition: run.definition, workspace: '', key }).length
  return workspace === '' ? 0 : holdersOf(rows, { definition: '', workspace, key: '' }).length
}

const groupOf = ({ run, epoch }: MemoryRun): string =>
  JSON.stringify([run.definition, run.limits, run.priority, epoch === 0])

function whoseOf({ run }: MemoryRun): string {
  const { workspace = '', key = '' } = run.limits ?? {}
  return key === '' ? workspace : `${run.definition}\u001f${key}`
}

function grouped<T>(items: readonly T[], by: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const item of items) groups.set(by(item), [...(groups.get(by(item)) ?? []), item])
  return [...groups.values()]
}

/** One that has made workers crash is not taken along: of those one runs at a time. */
function isFor(by: Worker, row: MemoryRun): boolean {
  return hasCode(by, row) && row.crashes < CRASHES_SUSPECT
}

const byAge = (a: MemoryRun, b: MemoryRun): number =>
  (a.asksAt ?? 0) - (b.asksAt ?? 0) || (a.uid < b.uid ? -1 : 1)
const byRank = (a: Candidate, b: Candidate): number =>
  b.row.run.priority - a.row.run.priority || byAge(a.row, b.row)
/** Before slots are given, which forgets how long they have asked. */
const byPriority = (a: MemoryRun, b: MemoryRun): number =>
  b.run.priority - a.run.priority || byAge(a, b)
const byTurn = (a: Candidate, b: Candidate): number =>
  b.row.run.priority - a.row.run.priority || a.turn - b.turn || byAge(a.row, b.row)
