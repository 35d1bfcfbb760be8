-- What people look at of many runs at once. Each is bounded: by a time, by a page, or by a number of runs.

-- name: activity
-- Runs that were started and that have ended, by time. $1 workspace, $2 definition (null: all but the one that delivers webhooks), $3 from and
-- $4 to in ms, $5 ms of a bucket, $6 and $7 the same times as uids.
select b.bucket, b.what, count(*)::int as runs from (
    select least(greatest(floor((@schema@.ms_v1(r.created_at) - $3::float8) / $5::float8), 0), ceil(($4::float8 - $3) / $5) - 1)::int as bucket,
        'started' as what
      from @schema@.runs r
      where r.workspace = $1::text and r.uid >= $6::uuid and r.uid < $7::uuid
        and (r.def = $2::text or ($2::text is null and r.def <> 'perdure.webhook'))
    union all
    select floor((@schema@.ms_v1(r.finished_at) - $3) / $5)::int, r.status
      from @schema@.runs r
      where r.workspace = $1 and r.finished_at >= @schema@.instant_v1($3) and r.finished_at < @schema@.instant_v1($4)
        and (r.def = $2 or ($2 is null and r.def <> 'perdure.webhook'))) b
  group by b.bucket, b.what order by b.bucket, b.what;

-- name: inbox
-- Runs that wait for a person, oldest first. $1 workspace, $2 definition (null: all), $3 the uid after which the page begins, $4 how many.
select v.* from @schema@.shown_of_v1(array(
    select r.uid from @schema@.runs r
      where r.workspace = $1::text and r.status = 'waiting' and r.reason = 'signal' and r.stop is null
        and (r.def = $2::text or $2::text is null)
        and (coalesce(r.due_at, r.asks_at) is null or coalesce(r.due_at, r.asks_at) > (select @schema@.clock_v1()))
        and ($3::uuid is null or r.uid > $3)
      order by r.uid limit $4::int)) v;

-- name: recent
-- The newest entries of each of $1, newest first, $2 of each; payloads of failures only.
select t.uid::text as uid, j.seq, @schema@.ms_v1(j.at) as at, j.kind, j.name, j.occurrence, j.attempt, j.meta,
    case when j.kind in ('step.failed', 'undo.failed') or (j.kind = 'child.ended' and j.meta like '%"retryAt":%') then j.payload end as payload
  from unnest($1::uuid[]) t (uid)
  cross join lateral (
    select j.at, e.* from (select j.* from @schema@.journal j where j.uid = t.uid order by j.seq desc limit $2::int) j
      cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
      order by e.seq desc limit $2) j
  order by t.uid, j.seq desc;

-- name: visible
-- What each of $1 shows to people, in order, $2 of each, with the step that wrote it.
select d.uid::text as uid, d.seq, d.no, d.until_seq, d.hidden, d.id, d.type, d.key, array_to_json(d.tags)::text as tags, d.content, j.name, j.occurrence, j.attempt, @schema@.ms_v1(j.at) as at
  from unnest($1::uuid[]) t (uid)
  cross join lateral (
    select d.* from @schema@.documents d where d.uid = t.uid and d.until_seq is null and not d.hidden
      order by d.position_seq, d.position_no, d.seq, d.no limit $2::int) d
  cross join lateral (select j.* from @schema@.journal j where j.uid = d.uid and j.seq = d.seq limit 1) j
  order by d.uid, d.position_seq, d.position_no, d.seq, d.no;

-- name: stepCounts
-- What has become of the steps of a definition. $1 workspace, $2 definition, $3 the first uid (null: any), $4 runs at most, $5 entries of each
-- and $6 of all. Among five times as many runs those are taken that have ended. Names are told without rounds and uses (months@3/charge).
with newest as materialized (
    select r.uid, r.finished_at from @schema@.runs r
      where r.workspace = $1::text and r.def = $2::text and ($3::uuid is null or r.uid >= $3)
      order by r.uid desc limit 5 * $4::int),
  chosen as materialized (select n.uid from newest n where n.finished_at is not null order by n.uid desc limit $4),
  facts as materialized (
    select j.* from chosen c
      cross join lateral (
        select j.uid, e.seq, j.at, e.kind, e.name, e.occurrence, e.meta from (
            select j.* from @schema@.journal j
              where j.uid = c.uid and (j.kind in ('step.completed', 'step.failed', 'child.started', 'child.ended') or j.folded is not null)
              order by j.seq desc limit $5::int) j
          cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
          where e.kind in ('step.completed', 'step.failed', 'child.started', 'child.ended')) j
      limit $6::int),
  timed as (
    select regexp_replace(regexp_replace(f.name, '^@[0-9]+/', ''), '[@#][0-9]+/', '/', 'g') as name, f.kind, f.meta::json as meta,
        @schema@.ms_v1(f.at) - @schema@.ms_v1(lag(f.at) over (partition by f.uid, f.name, f.occurrence order by f.seq)) as since_ms
      from facts f),
  told as (
    select t.name, t.meta ->> 'retryAt' is not null as is_retry,
        t.kind = 'step.failed' or coalesce(t.meta ->> 'status', 'completed') <> 'completed' as is_failure,
        case when t.kind = 'child.ended' then t.since_ms else (t.meta ->> 'startedAgo')::float8 end as ms
      from timed t where t.kind <> 'child.started')
select c.runs, c.is_whole, s.* from (
    select (select count(*) from chosen)::int as runs,
      (select count(*) from newest) < 5 * $4 and (select count(*) from chosen) < $4 and (select count(*) from facts) < $6
        and not exists (select 1 from facts f group by f.uid having count(*) >= $5) as is_whole) c
  left join (
    select t.name, (count(*) filter (where not t.is_retry))::int as executions,
        (count(*) filter (where t.is_failure and not t.is_retry))::int as failures, (count(*) filter (where t.is_retry))::int as retries,
        percentile_cont(0.5) within group (order by t.ms) as p50_ms, percentile_cont(0.95) within group (order by t.ms) as p95_ms
      from told t group by t.name) s on true
  order by s.name collate "C";
