-- Reading. One statement each, so one snapshot: never half a run.

-- name: settled
-- Ends that callers wait for. $1 workspaces, $2 ids (packed). The last entry has the output or the error.
select r.uid::text as uid, r.workspace, r.id, r.status, j.payload, j.meta
  from unnest(@schema@.texts_v1($1::text), @schema@.texts_v1($2::text)) t (workspace, id)
  cross join lateral (
    select r.uid, r.workspace, r.id, r.status, r.seq from @schema@.runs r
      where r.workspace = t.workspace and r.id = t.id and r.finished_at is not null limit 1) r
  cross join lateral (select j.payload, j.meta from @schema@.journal j where j.uid = r.uid and j.seq = r.seq limit 1) j;

-- name: called
-- What became of triggers. $1 uids, $2 numbers. Those that wait in the mailbox of a run that goes on, or for their reply there,
-- are left out.
select t.uid::text as uid, t.no, case when m.taken_seq > 0 then 'taken' when m.taken_seq = 0 then 'refused' else 'finished' end as fate,
    j.kind, j.payload
  from unnest($1::uuid[], $2::int[]) t (uid, no)
  left join lateral (select m.taken_seq, m.reply_seq from @schema@.messages m where m.uid = t.uid and m.no = t.no limit 1) m on true
  left join lateral (
    select e.kind, e.payload from @schema@.journal j
      cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
      where j.uid = t.uid and j.seq >= m.reply_seq and j.seq <= m.reply_seq + 3 and e.seq = m.reply_seq limit 1) j on m.reply_seq > 0
  left join lateral (select 1 as goes from @schema@.runs r where r.uid = t.uid and r.finished_at is null limit 1) g on true
  where (m.taken_seq is not null and m.reply_seq is distinct from 0) or g.goes is null;

-- name: delivered
-- These feed rows have reached the listeners. $1 ids.
update @schema@.feed set pending = false where id = any ($1::bigint[]) and pending;

-- name: inherited
-- The entries of feed rows, oldest first. $1 ids. Runs that are gone are left out.
select r.uid::text as uid, r.id, r.workspace, r.def, j.seq, @schema@.ms_v1(j.at) as at, j.kind, j.name, j.occurrence, j.attempt, j.meta, j.payload
  from @schema@.feed f
  cross join lateral unnest(string_to_array(f.ranges, ',')) with ordinality s (span, i)
  cross join lateral (
    select r.uid, r.id, r.workspace, r.def from @schema@.runs r where r.uid = split_part(s.span, ':', 1)::uuid limit 1) r
  cross join lateral (
    select j.at, e.* from @schema@.journal j
      cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
      where j.uid = r.uid and j.seq >= split_part(s.span, ':', 2)::int and j.seq <= split_part(s.span, ':', 3)::int + 3
        and e.seq between split_part(s.span, ':', 2)::int and split_part(s.span, ':', 3)::int) j
  where f.id = any ($1::bigint[])
  order by f.id, s.i, j.seq;

-- name: getRun
-- $1 workspace, $2 id.
select v.* from @schema@.shown_of_v1(array(select r.uid from @schema@.runs r where r.workspace = $1::text and r.id = $2::text)) v;

-- name: listOldest
-- Oldest first. $1 workspace, $2 definition, $3 statuses, $4 reason, $5 parent id, $6 created after, $7 created before, $8 part of the id or
-- of the value of a tag,
-- $9 tag names and $10 their values (packed), $11 the uid after which the page begins, $12 how many, $13 kind (of what $14 and $15 say of
-- names, packed; see RunFilter). null: any, but of the
-- definitions not the one that delivers webhooks.
-- One status is said as such: then the index that has them apart is in the order of the page (runs_status of 0013).
-- The page is cut before entries are looked up. The reason is the one that is shown (src/engine/info.ts).
select v.* from @schema@.shown_of_v1(array(
    select r.uid from @schema@.runs r
      where ($1::text is null or r.workspace = $1)
        and (r.def = $2::text or ($2::text is null and r.def <> 'perdure.webhook'))
        and case when $3::text[] is null then true when cardinality($3) = 1 then r.status = ($3)[1] else r.status = any ($3) end
        and ($4::text is null or $4 = case
          when r.owner is null and r.stop is null and coalesce(r.due_at, r.asks_at) <= @schema@.clock_v1() and r.started_at is not null and not exists (
            select 1 from @schema@.workers w, json_array_elements_text(w.definitions::json) d (name)
              where w.lease_until > @schema@.clock_v1()
                and case when r.version is null then starts_with(d.name, r.def || '@') else d.name = r.def || '@' || r.version end)
          then 'missing-code' when r.status = 'waiting' then case
            when r.slot is false and r.stop is null and r.diverged_builds is null and r.started_at is not null and r.asks_at <= @schema@.clock_v1()
            then 'slot' else coalesce(r.reason, 'slot') end end)
        and ($5::text is null or r.parent_id = $5)
        and ($6::float8 is null or r.created_at > @schema@.instant_v1($6))
        and ($7::float8 is null or r.created_at < @schema@.instant_v1($7))
        and ($8::text is null or position($8 in r.id) > 0
          or exists (select 1 from json_each_text(r.tags::json) t (key, value) where position($8 in t.value) > 0))
        and ($13::text is null or $13 = coalesce(
          (select k.kind from unnest(@schema@.texts_v1($14::text), @schema@.texts_v1($15::text)) k (name, kind) where k.name = r.def limit 1),
          case when left(r.version, 1) = '#' then 'graph' when r.parent_uid is null then 'workflow' else 'task' end))
        and ($9::text = '' or (r.tags <> '{}' and @schema@.tags_v1(r.tags) @> array(
          select t.key || E'\x1f' || t.value from unnest(@schema@.texts_v1($9), @schema@.texts_v1($10::text)) t (key, value))))
        and ($11::uuid is null or r.uid > $11)
      order by r.uid limit $12::int)) v;

-- name: listNewest
-- Newest first; the parameters are those of listOldest.
select v.* from @schema@.shown_of_v1(array(
    select r.uid from @schema@.runs r
      where ($1::text is null or r.workspace = $1)
        and (r.def = $2::text or ($2::text is null and r.def <> 'perdure.webhook'))
        and case when $3::text[] is null then true when cardinality($3) = 1 then r.status = ($3)[1] else r.status = any ($3) end
        and ($4::text is null or $4 = case
          when r.owner is null and r.stop is null and coalesce(r.due_at, r.asks_at) <= @schema@.clock_v1() and r.started_at is not null and not exists (
            select 1 from @schema@.workers w, json_array_elements_text(w.definitions::json) d (name)
              where w.lease_until > @schema@.clock_v1()
                and case when r.version is null then starts_with(d.name, r.def || '@') else d.name = r.def || '@' || r.version end)
          then 'missing-code' when r.status = 'waiting' then case
            when r.slot is false and r.stop is null and r.diverged_builds is null and r.started_at is not null and r.asks_at <= @schema@.clock_v1()
            then 'slot' else coalesce(r.reason, 'slot') end end)
        and ($5::text is null or r.parent_id = $5)
        and ($6::float8 is null or r.created_at > @schema@.instant_v1($6))
        and ($7::float8 is null or r.created_at < @schema@.instant_v1($7))
        and ($8::text is null or position($8 in r.id) > 0
          or exists (select 1 from json_each_text(r.tags::json) t (key, value) where position($8 in t.value) > 0))
        and ($13::text is null or $13 = coalesce(
          (select k.kind from unnest(@schema@.texts_v1($14::text), @schema@.texts_v1($15::text)) k (name, kind) where k.name = r.def limit 1),
          case when left(r.version, 1) = '#' then 'graph' when r.parent_uid is null then 'workflow' else 'task' end))
        and ($9::text = '' or (r.tags <> '{}' and @schema@.tags_v1(r.tags) @> array(
          select t.key || E'\x1f' || t.value from unnest(@schema@.texts_v1($9), @schema@.texts_v1($10::text)) t (key, value))))
        and ($11::uuid is null or r.uid < $11)
      order by r.uid desc limit $12::int)) v;

-- name: openChildren
-- The children of $1 that have not ended, oldest first.
select v.* from @schema@.shown_of_v1(array(
  select r.uid from @schema@.runs r where r.parent_uid = $1::uuid and r.finished_at is null order by r.uid)) v;

-- name: historyOldest
-- Entries of $1 after $2 (null: from the first), oldest first, $3 of them. Their numbers have no gaps: said as a range, no plan reads more.
-- (Here and below: a row has up to three more entries folded into it, which come right before it. Keeps F1, F2 of 0018.)
select e.seq, @schema@.ms_v1(j.at) as at, e.kind, e.name, e.occurrence, e.attempt, e.meta, e.payload from @schema@.journal j
  cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
  where j.uid = $1::uuid and j.seq > coalesce($2::int, 0) and j.seq <= coalesce($2::int, 0)::bigint + $3::int + 3
    and e.seq > coalesce($2::int, 0) and e.seq <= coalesce($2::int, 0)::bigint + $3::int order by e.seq limit $3;

-- name: historyNewest
-- Entries of $1 before $2 (null: from the last), newest first, $3 of them.
select e.seq, @schema@.ms_v1(j.at) as at, e.kind, e.name, e.occurrence, e.attempt, e.meta, e.payload from @schema@.journal j
  cross join (
    select least($2::int, (select l.seq + 1 from @schema@.journal l where l.uid = $1::uuid order by l.seq desc limit 1)) as seq) b
  cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
  where j.uid = $1::uuid and j.seq < b.seq + 3 and j.seq >= b.seq - $3::int
    and e.seq < b.seq and e.seq >= b.seq - $3::int order by e.seq desc limit $3;

-- name: checkpointsOldest
-- Entries of $1 that are checkpoints, after $2 (null: from the first), oldest first, $3 of them. (Field 12 of what is folded: the meta of the step.)
select e.seq, @schema@.ms_v1(j.at) as at, e.kind, e.name, e.occurrence, e.attempt, e.meta, e.payload from (
    select j.* from @schema@.journal j
      where j.uid = $1::uuid and ($2::int is null or j.seq > $2)
        and ((j.kind = 'step.completed' and j.meta like '%"checkpoint":%') or (string_to_array(j.folded, E'\x1c', E'\x1b'))[12] like '%"checkpoint":%')
      order by j.seq limit $3::int + 1) j
  cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
  where ($2::int is null or e.seq > $2) and e.kind = 'step.completed' and e.meta like '%"checkpoint":%'
  order by e.seq limit $3::int;

-- name: checkpointsNewest
-- Entries of $1 that are checkpoints, before $2 (null: from the last), newest first, $3 of them.
select e.seq, @schema@.ms_v1(j.at) as at, e.kind, e.name, e.occurrence, e.attempt, e.meta, e.payload from (
    select j.* from @schema@.journal j
      where j.uid = $1::uuid and ($2::int is null or j.seq < $2::bigint + 3)
        and ((j.kind = 'step.completed' and j.meta like '%"checkpoint":%') or (string_to_array(j.folded, E'\x1c', E'\x1b'))[12] like '%"checkpoint":%')
      order by j.seq desc limit $3::int + 3) j
  cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
  where ($2::int is null or e.seq < $2) and e.kind = 'step.completed' and e.meta like '%"checkpoint":%'
  order by e.seq desc limit $3::int;

-- name: documents
-- Those of $1, in order, with the step that wrote them.
select d.seq, d.no, d.until_seq, d.hidden, d.id, d.type, d.key, array_to_json(d.tags)::text as tags, d.content, j.name, j.occurrence, j.attempt, @schema@.ms_v1(j.at) as at
  from @schema@.documents d
  cross join lateral (select j.* from @schema@.journal j where j.uid = d.uid and j.seq = d.seq limit 1) j
  where d.uid = $1::uuid order by d.position_seq, d.position_no, d.seq, d.no;

-- name: liveDefinitions
-- What workers with a lease can execute.
select w.definitions from @schema@.workers w where w.lease_until > (select @schema@.clock_v1());

-- name: workers
-- All that are known, oldest first, with how many runs each holds.
select w.id::text as id, w.build, @schema@.ms_v1(w.started_at) as started_at, @schema@.ms_v1(w.lease_until) as lease_until,
    w.lease_until > (select @schema@.clock_v1()) as is_alive, w.definitions,
    (select count(*)::int from @schema@.runs r where r.owner = w.id) as runs
  from @schema@.workers w order by w.started_at, w.id;

-- name: counts
-- Runs by definition and status. $1 workspace, null: all. For people: it counts them all.
select r.def, r.status, count(*)::int as runs from @schema@.runs r
  where ($1::text is null or r.workspace = $1) group by r.def, r.status order by r.def, r.status;

-- name: dueLag
-- How late the run is that is due for longest. From one definition, version and priority to the next (runs_due, runs_suspect of 0001):
-- those that are due some day are not read.
with recursive
  fit as (
    (select r.def, coalesce(r.version, '') as version, r.priority, r.due_at from @schema@.runs r where r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2
      order by r.def, coalesce(r.version, ''), r.priority, r.due_at limit 1)
    union all
    select n.* from fit k cross join lateral (
      select r.def, coalesce(r.version, '') as version, r.priority, r.due_at from @schema@.runs r
        where r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2 and (r.def, coalesce(r.version, ''), r.priority) > (k.def, k.version, k.priority)
        order by r.def, coalesce(r.version, ''), r.priority, r.due_at limit 1) n),
  suspect as (
    (select r.def, coalesce(r.version, '') as version, r.priority, r.due_at from @schema@.runs r where r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes >= 2
      order by r.def, coalesce(r.version, ''), r.priority, r.due_at limit 1)
    union all
    select n.* from suspect k cross join lateral (
      select r.def, coalesce(r.version, '') as version, r.priority, r.due_at from @schema@.runs r
        where r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes >= 2 and (r.def, coalesce(r.version, ''), r.priority) > (k.def, k.version, k.priority)
        order by r.def, coalesce(r.version, ''), r.priority, r.due_at limit 1) n)
select coalesce(greatest(0, @schema@.ms_v1(@schema@.clock_v1()) - @schema@.ms_v1(min(k.due_at))), 0) as lag_ms
  from (select due_at from fit union all select due_at from suspect) k;
