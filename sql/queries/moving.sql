-- What tools do to runs: they read them whole, and put them into another database.

-- name: liveRuns
-- Runs that have not ended, oldest first. $1 workspace or null, $2 behind which uid, $3 how many.
select r.uid::text as uid, r.owner::text as owner, r.epoch, coalesce(o.seq, r.seq) as seq, r.id, r.workspace, r.def,
    r.version, r.tags, r.parent_uid::text as parent_uid, r.parent_id, @schema@.ms_v1(r.created_at) as created_at,
    @schema@.ms_v1(coalesce(r.started_at, r.created_at)) as started_at, @schema@.ms_v1(r.deadline_at) as deadline_at
  from @schema@.runs r
  -- The row of an owned run may lag behind its journal (0002, C7).
  left join lateral (
    select j.seq from @schema@.journal j where j.uid = r.uid and r.owner is not null order by j.seq desc limit 1) o on true
  where r.finished_at is null and ($1::text is null or r.workspace = $1) and r.def <> 'perdure.webhook'
    and ($2::uuid is null or r.uid > $2)
  order by r.uid limit $3::int;

-- name: selectRuns
-- Those that fit with their families: up to the eldest that there is, and down to the last. $1 workspace, $2 definition, $3 ids (packed); null: any.
with recursive up as (
    select r.uid, r.parent_uid from @schema@.runs r
      where ($1::text is null or r.workspace = $1) and ($2::text is null or r.def = $2)
        and ($3::text is null or r.id = any (@schema@.texts_v1($3)))
    union
    select p.uid, p.parent_uid from up join @schema@.runs p on p.uid = up.parent_uid),
  family as (
    select up.uid from up
    union
    select c.uid from family join @schema@.runs c on c.parent_uid = family.uid)
select r.uid::text as uid, r.def, r.version from family f join @schema@.runs r on r.uid = f.uid order by r.uid;

-- name: runRecords
-- $1 uids. One statement, so one snapshot. The names are those of RunRecord (src/kernel/store-moving.ts).
select json_build_object(
    'uid', r.uid, 'id', r.id, 'workspace', r.workspace, 'definition', r.def, 'version', r.version, 'status', r.status, 'reason', r.reason,
    'stop', r.stop, 'owner', r.owner, 'dueAt', @schema@.ms_v1(coalesce(r.due_at, case when r.owner is null then r.asks_at end)),
    'createdAt', @schema@.ms_v1(r.created_at), 'updatedAt', @schema@.ms_v1(r.updated_at), 'startedAt', @schema@.ms_v1(r.started_at),
    'finishedAt', @schema@.ms_v1(r.finished_at), 'deadlineAt', @schema@.ms_v1(r.deadline_at),
    'epoch', r.epoch, 'seq', coalesce(j.seq, r.seq), 'inbox', r.inbox, 'taken', r.taken, 'crashes', r.crashes, 'undoOpen', r.undo_open,
    'attempt', r.attempt, 'priority', r.priority, 'tags', r.tags::json, 'parentUid', r.parent_uid, 'parentId', r.parent_id,
    'divergedBuilds', array_to_json(coalesce(r.diverged_builds, '{}')),
    'limits', case when r.slot is not null then json_build_object('workspace', r.limit_workspace, 'key', r.limit_key) end,
    'shown', (select json_build_object('place', s.place, 'error', s.error, 'state', s.state) from @schema@.states s where s.uid = r.uid),
    'journal', coalesce(j.entries, '[]'),
    'messages', coalesce((
      select json_agg(json_build_object('no', m.no, 'takenSeq', m.taken_seq, 'replySeq', m.reply_seq, 'at', @schema@.ms_v1(m.at), 'id', m.id,
          'kind', m.kind, 'name', m.name, 'meta', m.meta::json, 'payload', m.payload) order by m.no)
        from @schema@.messages m where m.uid = r.uid), '[]'),
    'documents', coalesce((
      select json_agg(json_build_object('seq', d.seq, 'no', d.no, 'untilSeq', d.until_seq, 'position', json_build_array(d.position_seq, d.position_no),
          'isHidden', d.hidden, 'id', d.id, 'type', d.type, 'key', d.key, 'tags', array_to_json(d.tags), 'content', d.content)
          order by d.position_seq, d.position_no, d.seq, d.no)
        from @schema@.documents d where d.uid = r.uid), '[]'),
    'waits', coalesce((
      select json_agg(json_build_object('name', w.name, 'occurrence', w.occurrence, 'since', @schema@.ms_v1(w.since), 'event', w.event,
          'match', array_to_json(w.match), 'run', w.run) order by w.name, w.occurrence)
        from @schema@.waits w where w.uid = r.uid), '[]'))::text as record
  from @schema@.runs r
  left join lateral (
    select max(j.seq) as seq, json_agg(json_build_object('seq', e.seq, 'epoch', j.epoch, 'at', @schema@.ms_v1(j.at), 'kind', e.kind, 'name', e.name,
        'occurrence', e.occurrence, 'attempt', e.attempt, 'meta', e.meta::json, 'payload', e.payload) order by e.seq) as entries
      from @schema@.journal j
      cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
      where j.uid = r.uid) j on true
  where r.uid = any ($1::uuid[]) order by r.uid;

-- name: isMailUnderWay
-- A letter that is not in its mailbox; an event that a wait hears, and that nobody has told it of. `at` null: it has just been stored.
select exists (select 1 from @schema@.letters) or exists (
  select 1 from @schema@.waits w join @schema@.events e on e.workspace = w.workspace and e.name = w.event
    where (not e.is_told or not w.is_looked) and e.keys @> w.match and (e.at is null or e.at >= w.since)) as is_so;

-- name: holdRuns
-- $1 uids, $2 epochs, $3 entries, $4 messages. All or none. As pause_v1 (0006) does it for one.
with asked as materialized (
    select a.uid, a.epoch, a.seq, a.inbox from unnest($1::uuid[], $2::int[], $3::int[], $4::int[]) a (uid, epoch, seq, inbox)),
  same as materialized (
    select r.uid from asked a join @schema@.runs r on r.uid = a.uid
      where r.owner is null and r.finished_at is null and r.stop is distinct from 'cancel'
        and r.epoch = a.epoch and r.seq = a.seq and r.inbox = a.inbox
      order by r.uid for no key update of r),
  held as (
    update @schema@.runs r set stop = 'pause', status = 'waiting', reason = 'paused', updated_at = @schema@.clock_v1(),
        slot = case when r.slot then false else r.slot end,
        asks_at = case when r.slot is not null then coalesce(r.asks_at, r.due_at) end,
        due_at = case when r.slot is null then r.due_at end
      from same s where r.uid = s.uid and r.stop is null and (select count(*) from same) = (select count(*) from asked))
select a.uid::text as uid from asked a where not exists (select 1 from same s where s.uid = a.uid);

-- name: takenRuns
-- Which of these are there already, by uid or by id. $1 uids, $2 workspaces, $3 ids (packed).
select g.uid::text as uid from unnest($1::uuid[], @schema@.texts_v1($2::text), @schema@.texts_v1($3::text)) g (uid, workspace, id)
  where exists (select 1 from @schema@.runs r where r.uid = g.uid)
    or exists (select 1 from @schema@.runs r where r.workspace = g.workspace and r.id = g.id);

-- name: putFacts
-- All but the rows of runs, which come behind it (putRuns): the end of a run that is not there is nobody's news (0009). $1 RunRecords.
with given as materialized (select (one ->> 'uid')::uuid as uid, one from json_array_elements($1::json) g (one)),
  entries as (
    insert into @schema@.journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
      select g.uid, (e ->> 'seq')::int, (e ->> 'epoch')::int, @schema@.instant_v1((e ->> 'at')::float8), (e ->> 'occurrence')::int,
          (e ->> 'attempt')::int, e ->> 'kind', e ->> 'name', e ->> 'meta', e ->> 'payload'
        from given g cross join lateral json_array_elements(g.one -> 'journal') j (e)),
  mail as (
    insert into @schema@.messages (uid, no, taken_seq, reply_seq, at, id, kind, name, meta, payload)
      select g.uid, (e ->> 'no')::int, (e ->> 'takenSeq')::int, (e ->> 'replySeq')::int, @schema@.instant_v1((e ->> 'at')::float8), e ->> 'id',
          e ->> 'kind', e ->> 'name', e ->> 'meta', e ->> 'payload'
        from given g cross join lateral json_array_elements(g.one -> 'messages') j (e)),
  shown as (
    insert into @schema@.states (uid, place, error, state)
      select g.uid, g.one -> 'shown' ->> 'place', g.one -> 'shown' ->> 'error', g.one -> 'shown' ->> 'state'
        from given g where g.one ->> 'shown' is not null),
  papers as (
    insert into @schema@.documents (uid, seq, no, until_seq, position_seq, position_no, hidden, id, type, key, tags, content)
      select g.uid, (e ->> 'seq')::int, (e ->> 'no')::int, (e ->> 'untilSeq')::int, (e -> 'position' ->> 0)::int, (e -> 'position' ->> 1)::int,
          (e ->> 'isHidden')::boolean, e ->> 'id', e ->> 'type', e ->> 'key', array(select json_array_elements_text(e -> 'tags')), e ->> 'content'
        from given g cross join lateral json_array_elements(g.one -> 'documents') j (e))
insert into @schema@.waits (uid, occurrence, since, name, workspace, event, match, run)
  select g.uid, (e ->> 'occurrence')::int, @schema@.instant_v1((e ->> 'since')::float8), e ->> 'name', g.one ->> 'workspace', e ->> 'event',
      array(select json_array_elements_text(e -> 'match')), e ->> 'run'
    from given g cross join lateral json_array_elements(g.one -> 'waits') j (e);

-- name: putRuns
-- $1 RunRecords. In nobody's hands. One with limits asks for a slot anew: those of the other database mean nothing here.
insert into @schema@.runs (uid, due_at, asks_at, slot, limit_workspace, limit_key, created_at, updated_at, started_at, finished_at, deadline_at,
    epoch, seq, inbox, taken, crashes, undo_open, attempt, priority, status, reason, stop, workspace, id, def, version, parent_uid, parent_id, tags,
    diverged_builds)
  select (one ->> 'uid')::uuid, case when l.is_due then l.due_at end, case when not l.is_due then l.due_at end,
      case when l.has_limits then false end, one -> 'limits' ->> 'workspace', one -> 'limits' ->> 'key',
      @schema@.instant_v1((one ->> 'createdAt')::float8), @schema@.instant_v1((one ->> 'updatedAt')::float8),
      @schema@.instant_v1((one ->> 'startedAt')::float8), @schema@.instant_v1((one ->> 'finishedAt')::float8),
      @schema@.instant_v1((one ->> 'deadlineAt')::float8),
      (one ->> 'epoch')::int, (one ->> 'seq')::int, (one ->> 'inbox')::int, (one ->> 'taken')::int, (one ->> 'crashes')::int,
      (one ->> 'undoOpen')::int, (one ->> 'attempt')::int, (one ->> 'priority')::smallint, one ->> 'status', one ->> 'reason', one ->> 'stop',
      one ->> 'workspace', one ->> 'id', one ->> 'definition', one ->> 'version', (one ->> 'parentUid')::uuid, one ->> 'parentId', one ->> 'tags',
      nullif(array(select json_array_elements_text(one -> 'divergedBuilds')), '{}')
    from json_array_elements($1::json) g (one)
    cross join lateral (select one ->> 'limits' is not null as has_limits) h
    cross join lateral (select h.has_limits, @schema@.instant_v1((one ->> 'dueAt')::float8) as due_at,
      not h.has_limits or (one ->> 'stop') is not distinct from 'cancel' as is_due) l;
