-- What steps publish, and what has changed in all runs. Keys cross the wire as text.

-- name: publish
-- $1 who, then of each: $2 uid, $3 epoch, $4 its number there, $5 attempt, $6 whether it is the first; packed: $7 step, $8 value. Keeps P1, P2.
select @schema@.publish_v1($1::uuid, $2::uuid[], $3::int[], $4::int[], $5::int[], $6::boolean[], $7::text, $8::text) is null as done;

-- name: standings
-- How far runs are. $1 uids.
select r.uid::text as uid, r.seq, r.finished_at is not null as is_final, coalesce(c.no, 0) as published
  from unnest($1::uuid[]) t (uid)
  cross join lateral (select r.uid, r.seq, r.finished_at from @schema@.runs r where r.uid = t.uid limit 1) r
  left join lateral (select c.no from @schema@.chunks c where c.uid = t.uid order by c.no desc limit 1) c on true;

-- name: chunks
-- $1 uid, $2 behind this number, $3 at most so many.
select c.no, c.attempt, c.is_first, @schema@.ms_v1(c.at) as at, c.step, c.value
  from @schema@.chunks c where c.uid = $1::uuid and c.no > $2::int order by c.no limit $3::int;

-- name: follow
-- $1 for how many ms from now on, $2 by how much a clock may step back.
select begun, horizon from @schema@.follow_v1($1::float8, $2::float8);

-- name: changes
-- Behind ($1 key, $2 id, $3 place): $4 workspace or null, $5 at most so many rows. Their changes; then one row for all of it: where that ends,
-- and whether everything is there from $1 on. Keeps H1, H2.
with h as materialized (select pg_snapshot_xmin(pg_current_snapshot()) as horizon),
c as materialized (
  select c.key, c.id, c.at, c.uids, c.froms, c.tos from @schema@.changes c
    where (c.key, c.id) >= ($1::text::xid8, $2::text::bigint) and c.key < (select h.horizon from h)
    order by c.key, c.id limit $5::int),
e as (
  select c.key, c.id, c.at, u.uid, s.seq, row_number() over (partition by c.key, c.id order by u.i, s.seq) as place
    from c cross join lateral unnest(c.uids, c.froms, c.tos) with ordinality u (uid, low, high, i)
    cross join lateral generate_series(u.low, u.high) s (seq)),
t as (
  select e.key, e.id, e.place, r.id as run, r.workspace, r.def, r.status, r.reason, coalesce(j.seq, 0) as seq, j.kind, j.name, j.occurrence,
      @schema@.ms_v1(coalesce(j.at, e.at)) as at, null::boolean as is_whole
    from e
    cross join lateral (select r.* from @schema@.runs r where r.uid = e.uid limit 1) r
    left join lateral (
      select j.at, o.* from @schema@.journal j
        cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) o
        where j.uid = e.uid and j.seq >= e.seq and j.seq <= e.seq + 3 and o.seq = e.seq limit 1) j on true
    where (e.key, e.id, e.place) > ($1::text::xid8, $2::text::bigint, $3::bigint) and ($4::text is null or r.workspace = $4::text)
  union all
  select coalesce(l.key, h.horizon), coalesce(l.id, 0), coalesce(l.places, 0), null, null, null, null, null, null, null, null, null, null,
      $1::text::xid8 <= h.horizon and @schema@.is_followed_v1() and coalesce((select f.begun <= $1::text::xid8 from @schema@.follows f), false)
    from h left join lateral (
      select c.key, c.id, (select sum(u.high - u.low + 1) from unnest(c.froms, c.tos) u (low, high)) as places
        from c offset $5::int - 1 limit 1) l on true)
select t.key::text as key, t.id::text as id, t.place::int as place, t.run, t.workspace, t.def, t.status, t.reason, t.seq, t.kind, t.name, t.occurrence, t.at, t.is_whole
  from t order by t.is_whole nulls first, t.key, t.id, t.place;
