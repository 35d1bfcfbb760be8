// What is stored of runs, as rows of tables, and the file that keeps it: one line per commit, with the rows that it
// added or changed. The first n lines together are the tables as a process leaves them that is killed behind commit n.

export const TABLES = ['runs', 'journal', 'messages', 'states', 'documents'] as const
export type Table = (typeof TABLES)[number]
export type Row = Readonly<Record<string, unknown>>
export type Tables = Readonly<Record<Table, readonly Row[]>>

export interface Line extends Partial<Tables> {
  /** The clock of the database then, in milliseconds since 1970. */
  readonly now: number
  /** So many calls of the program's scenario had been answered. */
  readonly done: number
}

export const NO_ROWS: Tables = { runs: [], journal: [], messages: [], states: [], documents: [] }

const KEYS: Readonly<Record<Table, readonly string[]>> = {
  runs: ['uid'],
  journal: ['uid', 'seq'],
  messages: ['uid', 'no'],
  states: ['uid'],
  documents: ['uid', 'seq', 'no'],
}

/** The tables after these lines. */
export function folded(lines: readonly Line[]): Tables {
  return eachTable((table) => {
    const rows = lines.flatMap((line) => line[table] ?? [])
    return [...new Map(rows.map((row) => [keyOf(table, row), row])).values()]
  })
}

/** The rows that are new or not as they were; null if all are. */
export function changed(before: Tables, after: Tables): Partial<Tables> | null {
  const some = TABLES.flatMap((table) => {
    const known = new Map(before[table].map((row) => [keyOf(table, row), JSON.stringify(row)]))
    const rows = after[table].filter((row) => known.get(keyOf(table, row)) !== JSON.stringify(row))
    return rows.length > 0 ? [[table, rows] as const] : []
  })
  return some.length === 0 ? null : Object.fromEntries(some)
}

export function eachTable(rowsOf: (table: Table) => readonly Row[]): Tables {
  return Object.fromEntries(TABLES.map((table) => [table, rowsOf(table)])) as unknown as Tables
}

function keyOf(table: Table, row: Row): string {
  return KEYS[table].map((column) => String(row[column])).join(' ')
}

const UID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

// ── comparing ───────────────────────────────────────────────────────────────────────────────────────────────

/** What is stored of a run, but for what depends on when its process died. */
export interface Told {
  readonly run: string
  readonly definition: unknown
  readonly status: unknown
  readonly state: unknown
  readonly journal: readonly Fact[]
  /** In the order in which people see them. */
  readonly documents: readonly string[]
}

interface Fact {
  readonly what: string
  /** A later version may say more. */
  readonly meta: Record<string, unknown>
  readonly payload: string | null
}

export function toldBy(tables: Tables): readonly Told[] {
  const names = namesOf(tables)
  const told = tables.runs.map((row): Told => {
    const journal = tables.journal.filter(({ uid }) => uid === row.uid)
    const state = tables.states.find(({ uid }) => uid === row.uid)?.state ?? null
    const entries = journal.toSorted((a, b) => Number(a.seq) - Number(b.seq))
    return {
      run: names.get(String(row.uid)) ?? '',
      definition: row.def,
      status: row.status,
      state,
      // That a step was asked for is written if something else goes on beside it: after a crash, perhaps not.
      journal: entries.filter(({ kind }) => kind !== 'step.asked').map((one) => factOf(one, names)),
      documents: shownOf(tables.documents.filter(({ uid }) => uid === row.uid)),
    }
  })
  return told.toSorted((a, b) => (a.run < b.run ? -1 : 1))
}

function shownOf(documents: readonly Row[]): readonly string[] {
  const placeOf = ({ position_seq, position_no, seq, no }: Row) =>
    [position_seq, position_no, seq, no].map((one) => String(one).padStart(9, '0')).join()
  return documents
    .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
    .map(({ type, key, tags, hidden, content, until_seq }) =>
      JSON.stringify([type, key, tags, hidden, content, until_seq === null]),
    )
}

/** Runs that callers started have their own ids; a child is named by its place in its parent. */
function namesOf({ runs, journal }: Tables): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const run of runs.toSorted(
    (a, b) => Date.parse(String(a.created_at)) - Date.parse(String(b.created_at)),
  )) {
    if (run.parent_uid === null) names.set(String(run.uid), String(run.id))
  }
  for (let known = -1; known < names.size; ) {
    known = names.size
    for (const entry of journal) {
      const parent = names.get(String(entry.uid))
      const { uid } = metaOf(entry)
      if (entry.kind !== 'child.started' || parent === undefined || uid === undefined) continue
      if (!names.has(String(uid)))
        names.set(String(uid), `${parent}/${entry.name}#${entry.occurrence} ${entry.attempt}`)
    }
  }
  return names
}

/** Times are left out, and numbers of messages; a child that was started again has another uid. */
function factOf(entry: Row, names: ReadonlyMap<string, string>): Fact {
  const { askedAgo: _, startedAgo: __, no: ___, ...meta } = metaOf(entry)
  const { kind, name, occurrence, attempt, payload } = entry
  const named = (text: string): string => text.replaceAll(UID, (uid) => names.get(uid) ?? uid)
  return {
    what: `${kind} ${name}#${occurrence} ${attempt}`,
    meta: JSON.parse(named(JSON.stringify(meta))),
    payload: payload === null ? null : named(String(payload)),
  }
}

export function metaOf(entry: Row): Record<string, unknown> {
  return entry.meta === null ? {} : JSON.parse(String(entry.meta))
}
