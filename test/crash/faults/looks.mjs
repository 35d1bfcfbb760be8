// What single faults must not do, beside what the checker of all worlds looks at. Each gives one line per broken promise.

/** Nobody died and nobody was slow: then no attempt of a step is executed twice. */
export function executedOnce({ ledger }) {
  const counts = new Map()
  for (const { run, step, attempt } of ledger) {
    const once = `${run} ${step} attempt ${attempt}`
    counts.set(once, (counts.get(once) ?? 0) + 1)
  }
  return [...counts].flatMap(([once, count]) =>
    count > 1 ? [`${once}: executed ${count} times, and nobody had died`] : [],
  )
}

/** No timer, and no timeout of a wait, before its time by the clock of the database. */
export function nothingEarly({ journal }) {
  return journal.flatMap(({ uid, seq, at, kind, meta }) => {
    if (kind !== 'timer.fired' && kind !== 'wait.withdrawn') return []
    const early = Number(meta?.dueAt) - at
    return early > 0 ? [`${uid}:${seq}: ${kind} ${early} ms before its time`] : []
  })
}

/** All workers lived: none was taken for dead. */
export function nobodyReaped(counters) {
  return ['worker.reaped', 'worker.reborn'].flatMap((name) =>
    counters[name] > 0 ? [`${name}: ${counters[name]}, and all of them lived`] : [],
  )
}

/** Of several clicks on one failed run one is taken. `said`: by all victims. */
export function oneClick({ runs, journal }, said, kinds) {
  const won = new Map()
  for (const { clicked, won: count } of said)
    if (clicked) won.set(clicked, (won.get(clicked) ?? 0) + count)
  return runs.flatMap(({ uid, id }) => {
    const wanted = { clicked: 1, impatient: 0 }[kinds.get(id)]
    if (wanted === undefined) return []
    const taken = won.get(id) ?? 0
    const opened = journal.filter((e) => e.uid === uid && e.kind === 'run.reopened').length
    return [
      ...(taken === wanted ? [] : [`${id}: ${taken} clicks were taken, of which ${wanted} may be`]),
      ...(opened === wanted ? [] : [`${id}: re-opened ${opened} times`]),
    ]
  })
}

/** A run that was cancelled beside its last commit is one of the two, and so are its children. */
export function oneOrTheOther({ runs, journal, waits }) {
  const rows = new Map(runs.map((run) => [run.uid, run]))
  return runs.flatMap((run) => {
    if (run.def !== 'crossed' && run.def !== 'nested') return []
    const own = journal.filter(({ uid }) => uid === run.uid)
    const ends = own.filter(({ kind }) => /^run\.(completed|cancelled|failed)$/.test(kind))
    const isOne = ['completed', 'cancelled'].includes(run.status) && ends.length === 1
    const isParentDone = rows.get(run.parent)?.status === 'completed'
    return [
      ...(isOne ? [] : [`${run.id}: ${run.status}, with ${ends.length} ends`]),
      ...(isParentDone && run.status !== 'completed'
        ? [`${run.id}: ${run.status}, and its parent has completed`]
        : []),
      ...(waits.some(({ uid }) => uid === run.uid) ? [`${run.id}: over, and still waits`] : []),
    ]
  })
}

/** The signal was heard once, by one of the two waits. */
export function heardOnce({ runs, journal }) {
  return runs.flatMap(({ uid, id, def }) => {
    if (def !== 'tight') return []
    const kinds = journal.filter((e) => e.uid === uid).map(({ kind }) => kind)
    const taken = kinds.filter((kind) => kind === 'message.taken').length
    const withdrawn = kinds.filter((kind) => kind === 'wait.withdrawn').length
    return taken === 1 && withdrawn <= 1
      ? []
      : [`${id}: ${taken} signals taken, ${withdrawn} waits withdrawn`]
  })
}

/** Milliseconds between the last entry of one owner and the first of the next. */
export function handOvers({ runs, journal }, def) {
  const of = new Set(runs.filter((run) => run.def === def).map(({ uid }) => uid))
  return journal.flatMap((entry, i) => {
    const before = journal[i - 1]
    const isNext = before?.uid === entry.uid && before.epoch < entry.epoch
    return isNext && of.has(entry.uid) ? [entry.at - before.at] : []
  })
}

/** From the start of each run to the first line of its first step, by the clock of the database. */
export function startDelays({ runs, journal, ledger }) {
  const first = new Map()
  for (const { run, at } of ledger) first.set(run, Math.min(at, first.get(run) ?? at))
  const created = new Map(
    journal.flatMap(({ uid, kind, at }) => (kind === 'run.created' ? [[uid, at]] : [])),
  )
  return runs.flatMap(({ uid, id, parent }) =>
    parent === null && first.has(id) ? [first.get(id) - created.get(uid)] : [],
  )
}
