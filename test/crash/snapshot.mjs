// All that the database of a world holds, in one go.

const ms = (column) => `(extract(epoch from ${column}) * 1000)::float8`

export async function readSnapshot(query, schema) {
  const runs = await query(
    `select r.uid::text as uid, id, def, status, reason, stop, owner::text as owner, seq, epoch, inbox, taken, crashes, attempt,
       parent_uid::text as parent, ${ms('due_at')} as due,
       s.state, s.place, s.error as "shownError"
       from ${schema}.runs r left join ${schema}.states s using (uid) order by r.uid`,
  )
  const journal = await query(
    `select uid::text as uid, seq, epoch, ${ms('at')} as at, kind, name, occurrence, attempt, meta, payload
       from ${schema}.history_v1 order by uid, seq`,
  )
  const messages = await query(
    `select uid::text as uid, no, id, kind, name, meta, taken_seq from ${schema}.messages order by uid, no`,
  )
  const documents = await query(
    `select uid::text as uid, seq, type, content from ${schema}.documents`,
  )
  // `events` of a world are those of engine.on.
  const emitted = await query(`select id, name from ${schema}.events`)
  const waits = await query(`select uid::text as uid, name from ${schema}.waits`)
  const schedules = await query(`select id, ${ms('last_slot')} as last from ${schema}.schedules`)
  const workers = await query(`select id::text as id from ${schema}.workers`)
  const feed = await query(
    `select worker::text as worker, ranges from ${schema}.feed where pending`,
  )
  const effects = await query('select run, step, key from effects')
  const read = (row) => ({ ...row, meta: row.meta === null ? null : JSON.parse(row.meta) })
  return {
    ...{ runs, journal: journal.map(read), messages: messages.map(read) },
    ...{ workers, feed, effects, emitted, waits, documents, schedules },
  }
}
