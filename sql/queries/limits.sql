-- Limits: slots, and who has them.

-- name: admit
-- $1 groups and $2 runs at most, $3 slots that nobody can use are taken back; $4 worker, $5 names and $6 versions of its definitions,
-- $7 places. Keeps A2, A4, A5.
select now_ms, admitted, next_ms, is_start, is_end, claimed from @schema@.admit_v2($1::int, $2::int, $3::boolean, $4::uuid, $5::text, $6::text, $7::int);

-- name: debounce
-- $1 key, $2 uid, $3 priority, $4 delay and $5 timeout in ms, $6 workspace, $7 id, $8 definition, $9 version, $10 tags, $11 meta, $12 input,
-- $13 and $14 where it is counted.
select kind, uid, def, is_same, id from @schema@.debounce_v1(
  $1::text, $2::uuid, $3::int, $4::float8, $5::float8, $6::text, $7::text, $8::text, $9::text, $10::text, $11::text, $12::text,
  $13::text, $14::text);

-- name: limitRules
-- What the definitions say.
select l.def, l.concurrency, l.per_workspace, l.per_key, l.key_path, l.rate_runs, l.rate_ms, l.key_rate_runs, l.key_rate_ms from @schema@.limits l order by l.def;

-- name: limitUse
-- How many have a slot and how many ask for one now, by where they are counted. For people: it counts all that ask.
select u.kind, u.def, u.name, sum(u.used)::int as used, sum(u.asking)::int as asking from (
    select v.kind, v.def, v.name, (r.slot)::int as used, (not r.slot)::int as asking
      from (
        select r.* from @schema@.runs r where r.slot
        union all
        select r.* from @schema@.runs r
          where r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null and r.asks_at <= @schema@.clock_v1()) r
      cross join lateral (values
        ('definition', r.def, ''), ('workspace', '', nullif(r.limit_workspace, '')), ('key', r.def, nullif(r.limit_key, ''))) v (kind, def, name)
      where v.name is not null) u
  group by u.kind, u.def, u.name order by u.kind, u.def, u.name;

-- name: holders
-- Some of those that have a slot where this run is counted. $1 definition, $2 workspace, $3 key ('': not so), $4 how many.
select r.id, r.workspace, r.def, @schema@.ms_v1(r.created_at) as since from @schema@.runs r
  where r.slot and ($1::text = '' or r.def = $1) and ($2::text = '' or r.limit_workspace = $2) and ($3::text = '' or r.limit_key = $3)
  order by r.uid limit $4::int;

-- name: askers
-- Some of those that ask for a slot there, the longest asking first. The parameters are those of holders.
select r.id, r.workspace, r.def, @schema@.ms_v1(r.asks_at) as since from @schema@.runs r
  where r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null and r.asks_at <= (select @schema@.clock_v1())
    and ($1::text = '' or r.def = $1) and ($2::text = '' or r.limit_workspace = $2) and ($3::text = '' or r.limit_key = $3)
  order by r.asks_at, r.uid limit $4::int;
