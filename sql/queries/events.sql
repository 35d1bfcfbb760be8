-- Events of a workspace, and the ends of runs that others wait for.

-- name: emit
-- $1 workspace, $2 id, $3 name, $4 keys (JSON), $5 payload, $6 in a caller's transaction. Keeps V1.
select @schema@.emit_v1($1::text, $2::text, $3::text, $4::text, $5::text, $6::boolean) is null as done;

-- name: fanOut
-- At most $1 waits that hear an event now; told events are kept for $2 ms. Keeps V1, V2.
select uid, workspace, run, name, occurrence, message, payload from @schema@.fan_out_v1($1::int, $2::float8);

-- name: awaited
-- The next $2 waits for ends behind uid $1, and how those runs have ended: null, not yet; `unknown`, there is no such run.
select w.uid::text as uid, o.workspace, o.id as run, w.name, w.occurrence,
    case when r.uid is null then 'unknown' when r.finished_at is not null then r.status end as message, j.payload
  from (select w.* from @schema@.waits w where w.run is not null and w.uid > $1::uuid order by w.uid limit $2::int) w
  cross join lateral (select o.workspace, o.id from @schema@.runs o where o.uid = w.uid limit 1) o
  left join lateral (
    select r.uid, r.finished_at, r.status, r.seq from @schema@.runs r where r.workspace = w.workspace and r.id = w.run limit 1) r on true
  left join lateral (
    select j.payload from @schema@.journal j where j.uid = r.uid and j.seq = r.seq and r.finished_at is not null limit 1) j on true
  order by w.uid;

-- name: heard
-- The messages for these waits are there. $1 uids, $2 names (packed), $3 occurrences.
delete from @schema@.waits w using unnest($1::uuid[], @schema@.texts_v1($2::text), $3::int[]) h (uid, name, occurrence)
  where w.uid = h.uid and w.name = h.name and w.occurrence = h.occurrence;
