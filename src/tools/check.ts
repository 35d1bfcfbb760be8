// Would the runs that have not ended go on with this code? Each is replayed along its history: nothing is executed, written or
// claimed. Runs that have come the same way are told of together.

import type { EngineOptions } from '../engine/engine-options.js'
import { readEngineOptions } from '../engine/options.js'
import type { Ports } from '../kernel/ports.js'
import { replayOnly, shapeOf, type Verdict } from '../kernel/replay-only.js'
import type { LivePage, LiveRun, ToolStore } from '../kernel/store.js'
import { makeLibrary } from '../library.js'
import { NO_HINTS } from '../live-hints.js'
import { standardLog } from '../live-log.js'
import { openLivePorts } from '../live-ports.js'
import type { Uid } from '../model/ids.js'
import type { Program } from '../model/program.js'
import type { Entry, RunFacts } from '../model/run.js'
import { openMemory } from '../open-store.js'
import { importInto } from './import.js'
import { type OpenedPlace, type Place, withStore } from './open.js'

const PAGE = 200
/** Pages under way: one that waits for a body must not hold up the others. */
const PAGES_MAX = 25
/** So often is a run read again that goes on while it is looked at. */
const TRIES_MAX = 5

export interface CheckReport {
  /** How many have not ended. */
  readonly runs: number
  readonly diverging: number
  readonly withoutCode: number
  /** Those that would not go on first, then by how many they are. */
  readonly shapes: readonly CheckedShape[]
}

/** Runs of one definition that have been asked for the same, and of which the same is to be said. */
export interface CheckedShape {
  readonly workflow: string
  /** null: it gets one when it first runs. */
  readonly version: string | null
  readonly verdict: 'fits' | 'diverges' | 'missing-code'
  readonly runs: number
  /** The id of the oldest of them, and its workspace. */
  readonly example: string
  readonly workspace: string
  /** Questions and answers in their history. */
  readonly questions: readonly string[]
  /** Where it diverges: the how-many-th question, what the history has, what the code asks. */
  readonly difference: NonNullable<Verdict> | null
}

export type CheckOptions = Omit<EngineOptions<readonly unknown[]>, 'worker' | 'retention'> & {
  /** Only its runs. */
  readonly workspace?: string | undefined
}

/** Replays every run that has not ended with these definitions, read-only. */
export async function checkRuns({
  workspace,
  ...options
}: CheckOptions = {}): Promise<CheckReport> {
  return withStore(options as Place, (store, place) => checkStore(store, place, workspace ?? null))
}

/** The same, of a copy that another process exports: it has the database to itself. */
export async function checkLines(
  { workspace, ...options }: CheckOptions,
  lines: AsyncIterable<string>,
): Promise<CheckReport> {
  const settings = readEngineOptions(options, process.env)
  const { store } = await openMemory()
  await importInto(store, lines, false)
  const log = settings.log ?? standardLog()
  return checkStore(store, { settings, log }, workspace ?? null)
}

async function checkStore(
  store: ToolStore,
  { settings, log }: Pick<OpenedPlace, 'settings' | 'log'>,
  workspace: string | null,
): Promise<CheckReport> {
  const library = makeLibrary(settings, log)
  await library.open(store)
  const { programs, learnt } = library.programs()
  const ports = await openLivePorts(NO_HINTS, log)
  const check = new Check([...programs, ...learnt], ports)
  const underWay: Promise<unknown>[] = []
  for await (const page of pagesOf(store, workspace)) {
    underWay.push(Promise.all(page.map(({ run, journal }) => check.look(run, journal))))
    if (underWay.length >= PAGES_MAX) await underWay.shift()
  }
  await Promise.all(underWay)
  return check.report()
}

interface Read {
  readonly run: LiveRun
  /** The entries that a replay needs. */
  readonly journal: readonly Entry[]
}

async function* pagesOf(store: ToolStore, workspace: string | null): AsyncGenerator<Read[]> {
  for (let after: Uid | null = null; ; ) {
    const where: LivePage = { workspace, after, limit: PAGE }
    let rows = await store.liveRuns(where)
    const last = rows.length === PAGE ? rows.at(-1) : undefined
    // One that has only been created has nothing that code could contradict.
    const page: Read[] = rows.filter(({ seq }) => seq === 1).map((run) => ({ run, journal: [] }))
    rows = rows.filter(({ seq }) => seq > 1)
    for (let tries = 0; rows.length > 0 && tries < TRIES_MAX; tries += 1) {
      const journals = await journalsOf(store, rows)
      const missing = new Set<Uid>()
      for (const run of rows) {
        const journal = journals.get(run.uid)
        if (journal) page.push({ run, journal })
        else missing.add(run.uid)
      }
      // In other hands than a moment ago, or ended.
      rows =
        missing.size === 0
          ? []
          : (await store.liveRuns(where)).filter(({ uid }) => missing.has(uid))
    }
    yield page
    if (!last) return
    after = last.uid
  }
}

async function journalsOf(store: ToolStore, runs: readonly LiveRun[]) {
  const what = runs.map(({ uid, owner, epoch, seq }) => ({
    // What is nobody's is found by that.
    fence: { uid, owner: owner as NonNullable<typeof owner>, epoch, seq },
    fromSeq: 0,
    fromNo: 0,
  }))
  return new Map((await store.load(what)).map(({ uid, entries }) => [uid, entries]))
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

class Check {
  private readonly programs: readonly Program[]
  private readonly ports: Ports
  private readonly shapes = new Map<string, Mutable<CheckedShape>>()

  constructor(programs: readonly Program[], ports: Ports) {
    this.programs = programs
    this.ports = ports
  }

  async look(run: LiveRun, journal: readonly Entry[]): Promise<void> {
    const { definition, version } = run
    const program = this.programs.find(
      (one) => one.name === definition && (version === null || one.version === version),
    )
    const [created] = journal
    if (!program || !created) return this.note(run, journal, program ? null : 'missing-code')
    const facts: RunFacts = {
      ...run,
      input: created.payload ?? '',
      order: created.meta?.order ?? null,
      seed: created.meta?.seed ?? run.uid,
    }
    const now = Math.max(run.startedAt, journal.at(-1)?.at ?? 0)
    this.note(run, journal, await replayOnly({ run: facts, program, journal }, this.ports, now))
  }

  report(): CheckReport {
    const order = ['diverges', 'missing-code', 'fits']
    const shapes = [...this.shapes.values()].sort(
      (a, b) =>
        order.indexOf(a.verdict) - order.indexOf(b.verdict) ||
        b.runs - a.runs ||
        (a.workflow < b.workflow ? -1 : 1),
    )
    const count = (of: readonly CheckedShape[]) => of.reduce((sum, { runs }) => sum + runs, 0)
    return {
      runs: count(shapes),
      diverging: count(shapes.filter(({ verdict }) => verdict === 'diverges')),
      withoutCode: count(shapes.filter(({ verdict }) => verdict === 'missing-code')),
      shapes,
    }
  }

  private note(run: LiveRun, journal: readonly Entry[], said: Verdict | 'missing-code'): void {
    const { definition: workflow, version, id: example, workspace } = run
    const questions = shapeOf(journal)
    const key = JSON.stringify([workflow, version, questions, said])
    const known = this.shapes.get(key)
    if (known) {
      known.runs += 1
      return
    }
    const difference = said === 'missing-code' ? null : said
    const verdict = said === 'missing-code' ? said : said === null ? 'fits' : 'diverges'
    const names = { workflow, version, verdict, example, workspace } as const
    this.shapes.set(key, { ...names, runs: 1, questions, difference })
  }
}
