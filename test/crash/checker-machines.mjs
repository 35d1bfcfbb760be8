// What must hold of machines, whoever died when: what a transition means is there as a whole or not at all.

/** Machines whose transitions all save the same two documents. */
const SAVING = 'assembly'
/** Machines that count their events, and one of them that never ends. */
const COUNTING = new Set(['tally', 'total'])
export const isEndless = ({ def }) => def === 'total'

/** One that only its own times move. */
const EXPIRING = 'offer'
const MACHINES = new Set([SAVING, EXPIRING, ...COUNTING])

/** `sent`: what senders of events were told. */
export function checkMachines(
  snapshot,
  { journals, byId },
  { sent = [], gone = () => false },
  say,
) {
  const documents = new Map()
  for (const document of snapshot.documents)
    documents.set(document.uid, [...(documents.get(document.uid) ?? []), document])
  for (const run of snapshot.runs) {
    if (!MACHINES.has(run.def)) continue
    const journal = journals.get(run.uid)
    checkTransitions(run, journal, documents.get(run.uid) ?? [], say)
    if (COUNTING.has(run.def)) {
      checkCount(run, journal, say)
      checkTakenOrder(run, journal, say)
    }
    if (run.def === EXPIRING) checkExpiries(run, journal, say)
  }
  for (const { id, to, count } of sent) {
    const run = byId.get(to)
    if (!run) say(`${to}: ${id} was acknowledged, and it is lost`)
    else if (!gone(run)) checkSent(run, journals.get(run.uid), { id, count }, say)
  }
}

/** All that can be said of a run at any moment: its rows are read in one statement. */
export function checkTransitions(run, journal, documents, say) {
  const checkpoints = journal.filter(({ meta }) => meta?.checkpoint !== undefined)
  const versions = checkpoints.map(({ meta }) => meta.checkpoint)
  if (versions.some((version, i) => version !== i + 1))
    say(`${run.id}: its checkpoints are ${versions}`)
  checkShown(run, journal, checkpoints, say)
  if (run.def !== SAVING) return
  const rest = new Set(documents)
  for (const entry of journal) {
    const own = documents.filter(({ seq }) => seq === entry.seq)
    for (const document of own) rest.delete(document)
    const said = own.map(({ type, content }) => `${type} ${content}`).sort()
    const expected = savedBy(entry)
    if (expected === null ? said.length !== 1 : said.join() !== expected.join())
      say(`${run.id}: ${entry.kind} ${entry.name} has documents ${said.join() || 'none'}`)
  }
  for (const { type, seq } of rest) say(`${run.id}: a ${type} of entry ${seq}, which is not there`)
}

/** null: its error. */
function savedBy({ kind, name, meta, payload }) {
  if (kind === 'step.failed') return null
  if (meta?.checkpoint === undefined) return []
  const { log } = JSON.parse(payload).state
  return [`part ${JSON.stringify({ name })}`, `progress ${JSON.stringify({ log })}`]
}

/** What people see is what the last outcome has left. */
function checkShown(run, journal, checkpoints, say) {
  const last = checkpoints.at(-1)
  const left = last ? JSON.parse(last.payload) : null
  if (sorted(JSON.parse(run.state ?? 'null')) !== sorted(left?.state ?? null))
    say(`${run.id}: shows ${run.state}, its last checkpoint says ${sorted(left?.state)}`)
  const failed = journal.findLast(({ kind }) => kind === 'step.failed')
  const isBroken = failed && failed.seq > (last?.seq ?? 0)
  const isSmeared = isBroken && failed.meta?.retryAt === undefined
  const place = isSmeared ? 'smeared' : (left?.place ?? run.place)
  if (run.place !== place) say(`${run.id}: is shown at ${run.place}, and is at ${place}`)
  if ((run.shownError !== null) !== Boolean(isBroken))
    say(`${run.id}: shows error ${run.shownError}, its last outcome says otherwise`)
}

const sorted = (value) =>
  JSON.stringify(value, (_, one) =>
    one && typeof one === 'object' && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort())
      : one,
  )

/** Every event counts once: those taken, those recorded and what it has counted are as many. */
function checkCount(run, journal, say) {
  const count = run.state === null ? 0 : JSON.parse(run.state).count
  const isAdd = ({ name }) => /(^|\/)ADD$/.test(name)
  const added = journal.filter((entry) => entry.kind === 'step.completed' && isAdd(entry)).length
  const taken = journal.filter(
    ({ kind, meta }) => kind === 'message.taken' && meta?.message === 'ADD',
  )
  const ids = new Set(taken.map(({ meta }) => meta.id))
  if (count !== added || added !== ids.size || ids.size !== taken.length)
    say(`${run.id}: counts ${count}, ${added} events done, ${taken.length} taken`)
}

/** Events are applied in the order in which they were accepted. */
function checkTakenOrder(run, journal, say) {
  const taken = journal.flatMap(({ kind, meta }) =>
    kind === 'message.taken' && meta?.no ? [meta.no] : [],
  )
  const early = taken.find((no, i) => i > 0 && no < taken[i - 1])
  if (early !== undefined) say(`${run.id}: event ${early} was applied behind a later one`)
}

/** Each time that it expires moves it once, and nothing else does. */
function checkExpiries(run, journal, say) {
  const expired = journal.filter(({ kind }) => kind === 'wait.withdrawn').length
  const moved = journal.filter(({ kind, meta }) => kind === 'step.completed' && meta?.checkpoint)
  const moves = moved.flatMap(({ payload }) => JSON.parse(payload).moves)
  const strange = moves.filter(({ event }) => event !== 'TIMEOUT')
  if (moves.length !== expired || strange.length > 0)
    say(`${run.id}: expired ${expired} times, moved by ${moves.map(({ event }) => event)}`)
}

/** Who was told so is right: its event was that one. */
function checkSent(run, journal, { id, count }, say) {
  const taken = journal.findIndex(({ kind, meta }) => kind === 'message.taken' && meta?.id === id)
  const done = journal.slice(taken).find(({ kind }) => kind === 'step.completed')
  const counted = taken < 0 || !done ? null : JSON.parse(done.payload).state.count
  if (counted !== count) say(`${run.id}: ${id} was told ${count}, and its event made it ${counted}`)
}

/** Of one moment: a statement sees what one instant has committed. */
const NOW = `select json_build_object(
  'runs', (select json_agg(json_build_object('uid', r.uid, 'id', r.id, 'def', r.def, 'state', s.state, 'place', s.place,
      'shownError', s.error))
    from @schema@.runs r left join @schema@.states s using (uid) where r.def in ('assembly', 'tally', 'total', 'offer')),
  'journal', (select json_agg(json_build_object('uid', j.uid, 'seq', j.seq, 'kind', j.kind, 'name', j.name,
      'meta', j.meta::json, 'payload', j.payload) order by j.uid, j.seq)
    from @schema@.history_v1 j join @schema@.runs r using (uid) where r.def in ('assembly', 'tally', 'total', 'offer')),
  'documents', (select json_agg(json_build_object('uid', d.uid, 'seq', d.seq, 'type', d.type, 'content', d.content))
    from @schema@.documents d)) as now`

/** Looks at every machine of a world that goes on, and says what is half done. */
export async function halfDone(world) {
  const [{ now }] = await world.query(NOW)
  const problems = []
  for (const run of now.runs ?? []) {
    const ofRun = ({ uid }) => uid === run.uid
    const documents = (now.documents ?? []).filter(ofRun)
    checkTransitions(run, now.journal.filter(ofRun), documents, (text) => problems.push(text))
  }
  return { problems, seen: (now.runs ?? []).length }
}
