-- breaking: no
-- What people and their own transactions do to runs.
--
-- A1. A start or a signal inside a caller's transaction takes no lock of a run that was there before: an open transaction
--     holds up nobody but who starts the same id.

-- Signals of callers' transactions. Whoever finds them after the commit sends them on under their ids.
create table @schema@.letters (
  no bigserial primary key,
  at timestamptz not null,
  workspace text not null,
  run text not null,
  id text not null,
  name text not null,
  payload text
);

-- One start, due and unclaimed, with its first message; alone, or inside a caller's transaction (`is_within`).
create function @schema@.start_v1(
  s_uid uuid, s_priority int, s_delay float8, s_timeout float8, s_workspace text, s_id text, s_def text, s_version text, s_tags text,
  s_meta text, s_input text, m_id text, m_name text, m_payload text, is_within boolean
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
  waits text;
begin
  -- Alone it has a connection of the commits; in a transaction of others the wait is theirs.
  if not is_within then
    waits := set_config('lock_timeout', '100ms', true);
  end if;
  insert into runs as r (uid, due_at, created_at, updated_at, deadline_at, epoch, seq, inbox, priority, status, workspace, id, def, version, tags)
    values (s_uid, now_at + s_delay * interval '1 millisecond', now_at, now_at, now_at + (s_delay + s_timeout) * interval '1 millisecond',
      0, 1, case when m_id is null then 0 else 1 end, s_priority, 'pending', s_workspace, s_id, s_def, s_version, s_tags)
    on conflict do nothing;
  if found then
    insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
      values (s_uid, 1, 0, now_at, 0, 0, 'run.created', '', s_meta, s_input);
    if m_id is not null then
      insert into messages (uid, no, at, id, kind, name, payload) values (s_uid, 1, now_at, m_id, 'signal', m_name, m_payload);
    end if;
    kind := 'done';
    return next;
    return;
  end if;
  -- A later statement than the insert: only now the row is visible that it met.
  select case when r.uid = s_uid then 'done' else 'exists' end, r.uid::text, r.def, r.def = s_def and j.payload is not distinct from s_input
    into kind, uid, def, is_same
    from runs r cross join lateral (select j.payload from journal j where j.uid = r.uid and j.seq = 1) j
    where r.workspace = s_workspace and r.id = s_id;
  if kind is null then
    raise exception 'the uid of % is taken', s_id using errcode = '23505';
  end if;
  if is_within and m_id is not null and kind = 'exists' and is_same then
    insert into letters (at, workspace, run, id, name, payload) values (now_at, s_workspace, s_id, m_id, m_name, m_payload);
  end if;
  return next;
end $f$;

-- A paused run keeps its due time, which no claim looks at (`stop is null`). Resumed it is due now, and the turn finds out what
-- it waits for; one that was never claimed is due when it was.
create function @schema@.pause_v1(of_workspace text, of_id text, is_paused boolean) returns table (uid text, refusal text, status text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  now_at timestamptz;
  r runs;
begin
  select * into r from runs where runs.workspace = of_workspace and runs.id = of_id for no key update;
  uid := r.uid::text;
  status := r.status;
  if r.uid is null then
    refusal := 'RUN_NOT_FOUND';
  elsif r.finished_at is not null then
    refusal := 'RUN_FINISHED';
  elsif r.stop = 'cancel' then
    refusal := 'RUN_FINISHED';
    status := 'being cancelled';
  elsif is_paused and r.stop is null then
    now_at := clock_v1();
    update runs set stop = 'pause', updated_at = now_at,
        status = case when r.owner is null then 'waiting' else r.status end,
        reason = case when r.owner is null then 'paused' end
      where runs.uid = r.uid;
  elsif not is_paused and r.stop = 'pause' then
    now_at := clock_v1();
    update runs set stop = null, updated_at = now_at,
        due_at = case when r.owner is not null then null when r.epoch = 0 then coalesce(r.due_at, now_at) else now_at end,
        status = case when r.owner is not null then r.status when r.epoch = 0 then 'pending' else 'waiting' end,
        reason = case when r.owner is null and r.diverged_builds is not null then 'diverged' end
      where runs.uid = r.uid;
  end if;
  return next;
end $f$;

-- A new run with a copy of the first entries of another, which is only read. Messages were taken by the other run: their
-- numbers mean nothing here. What the other has done is the other's to undo: `inherited`. Documents come with the entries that
-- wrote them; what only a later entry has replaced is visible again.
create function @schema@.fork_v1(
  of_uid uuid, up_to int, f_uid uuid, f_id text, f_meta text, f_input text, o_seq int[], o_payload text, forgets int[]
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  now_at constant timestamptz := clock_v1();
begin
  insert into runs (uid, due_at, created_at, updated_at, started_at, deadline_at, epoch, seq, priority, status, workspace, id, def, version, tags)
    select f_uid, now_at, now_at, now_at, r.started_at, now_at + (r.deadline_at - r.created_at), 0, up_to, r.priority, 'pending',
        r.workspace, f_id, r.def, r.version, r.tags
      from runs r where r.uid = of_uid
    on conflict do nothing;
  if found then
    insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
      select f_uid, j.seq, 0, j.at, j.occurrence, j.attempt, j.kind, j.name,
          case when j.seq = 1 then f_meta
            when j.kind = 'message.taken' then (j.meta::jsonb - 'no')::text
            when j.kind in ('step.completed', 'child.ended')
              then ((coalesce(j.meta, '{}')::jsonb - 'no' - 'undoable') || '{"inherited": true}')::text
            when j.seq = any (forgets) then (j.meta::jsonb - 'uid')::text
            else j.meta end,
          case when j.seq = 1 then coalesce(f_input, j.payload) else coalesce(o.payload, j.payload) end
        from journal j left join unnest(o_seq, texts_v1(o_payload)) o (seq, payload) on o.seq = j.seq
        where j.uid = of_uid and j.seq <= up_to;
    insert into documents (uid, seq, no, until_seq, position_seq, position_no, hidden, id, type, key, tags, content)
      select f_uid, d.seq, d.no, case when d.until_seq <= up_to then d.until_seq end, d.position_seq, d.position_no, d.hidden, d.id, d.type,
          d.key, d.tags, d.content
        from documents d where d.uid = of_uid and d.seq <= up_to;
    kind := 'done';
    return next;
    return;
  end if;
  select case when t.uid = f_uid then 'done' else 'exists' end, t.uid::text, t.def,
      j.meta is not distinct from f_meta and j.payload is not distinct from coalesce(f_input, i.payload)
    into kind, uid, def, is_same
    from runs r join runs t on t.workspace = r.workspace and t.id = f_id
    join journal j on j.uid = t.uid and j.seq = 1
    join journal i on i.uid = r.uid and i.seq = 1
    where r.uid = of_uid;
  kind := coalesce(kind, 'gone');
  return next;
end $f$;

-- Deletes runs that ended before the horizon, a bounded part of them: uids begin with the time at which they were made, so
-- everything that could be old enough stands before the uid of the horizon, and no index is needed. One at a time.
create function @schema@.prune_v1(keep_ms float8, after_uid uuid, look int, most int) returns table (is_ours boolean, pruned int, next_uid text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  horizon constant timestamptz := clock_v1() - keep_ms * interval '1 millisecond';
  first_bits constant text := lpad(to_hex(greatest(ms_v1(horizon), 0)::bigint), 12, '0');
  before_uid constant uuid := (left(first_bits, 8) || '-' || right(first_bits, 4) || '-0000-0000-000000000000')::uuid;
  seen uuid[];
  doomed uuid[];
begin
  pruned := 0;
  is_ours := pg_try_advisory_xact_lock(hashtextextended('perdure retention of @schema@', 0));
  if is_ours then
    seen := array(select r.uid from runs r where r.uid > after_uid and r.uid < before_uid order by r.uid limit look);
    doomed := array(select r.uid from runs r
      where r.uid = any (seen) and r.finished_at < horizon
        and not exists (select 1 from runs p where p.uid = r.parent_uid and (p.finished_at is null or p.finished_at >= horizon))
      order by r.uid limit most for update skip locked);
    delete from runs r where r.uid = any (doomed);
    delete from journal j where j.uid = any (doomed);
    delete from messages m where m.uid = any (doomed);
    delete from states s where s.uid = any (doomed);
    delete from documents d where d.uid = any (doomed);
    delete from waits w where w.uid = any (doomed);
    pruned := cardinality(doomed);
    next_uid := case when pruned = most then doomed[pruned] when cardinality(seen) = look then seen[look] end;
  end if;
  return next;
end $f$;
