-- breaking: no
-- Who owns a run, and who gives it back.
--
-- O1. A run is given to one claimer: chosen without locks, then locked by its uid with skip locked, and taken only if
--     nothing that mattered for the choice has changed.
-- O2. Owners without a workers row own nothing for long: every pass frees their runs, by name, so that a run which has
--     moved on meanwhile is left alone.
-- O3. Only reap counts crashes.
-- O4. Who frees runs has deleted or locked the row of their owner before, in an earlier statement: no turn of its is under way
--     that has only read its fence (0002, C7), and the seq of a freed run is that of its last entry.

-- Takes up to `places` due runs for `by_id`, at most `suspects` of them with crashes >= 2 (CRASHES_SUSPECT). Those over the
-- limit (CRASHES_MAX = 5) are not counted: they are ended, never executed.
-- One range of runs_due per (definition, version, priority) that has rows: sleepers and foreign code are never walked.
-- Planned once per session: to each part only one index fits, whatever the statistics say (plans.test.ts).
create function @schema@.claim_v1(by_id uuid, by_build text, by_names text, by_versions text, places int, suspects int)
returns table (now_ms float8, claimed text, next_due_ms float8)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set lock_timeout = '100ms'
as $f$
declare
  now_at constant timestamptz := clock_v1();
  names constant text[] := texts_v1(by_names);
  versions constant text[] := texts_v1(by_versions);
  -- More than places: another claimer may hold the first ones.
  look constant int := 2 * places + 100;
  g_def text[];
  g_version text[];
  g_priority int[];
  c_uid uuid[];
  c_epoch int[];
  c_crashes int[];
  c_stop text[];
begin
  with recursive have (def, version) as (
    select w.name, w.version from unnest(names, versions) w (name, version) union select w.name, '' from unnest(names) w (name)),
  g (def, version, priority) as (
    select h.def, h.version, p.priority from have h cross join lateral (
      select r.priority from runs r where r.def = h.def and coalesce(r.version, '') = h.version
        and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2
        order by r.priority desc limit 1) p
    union all
    select g.def, g.version, p.priority from g cross join lateral (
      select r.priority from runs r where r.def = g.def and coalesce(r.version, '') = g.version and r.priority < g.priority
        and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2
        order by r.priority desc limit 1) p)
  select array_agg(g.def), array_agg(g.version), array_agg(g.priority) into g_def, g_version, g_priority from g;

  if places > 0 then
    with have (def, version) as (
      select w.name, w.version from unnest(names, versions) w (name, version) union select w.name, '' from unnest(names) w (name)),
    found as (
      select r.* from unnest(g_def, g_version, g_priority) g (def, version, priority) cross join lateral (
        select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
          where r.def = g.def and coalesce(r.version, '') = g.version and r.priority = g.priority and r.due_at <= now_at
            and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2
          order by r.due_at limit look) r
      union all
      select r.* from have h cross join lateral (
        select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
          where r.def = h.def and coalesce(r.version, '') = h.version and r.due_at <= now_at and suspects > 0
            and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes >= 2
          order by r.priority desc, r.due_at limit look) r
      union all
      select r.* from have h cross join lateral (
        select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
          where r.def = h.def and coalesce(r.version, '') = h.version and r.diverged_builds[1] < by_build and r.due_at <= now_at
            and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is not null
            and by_build <> all (r.diverged_builds) limit look) r
      union all
      select r.* from have h cross join lateral (
        select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
          where r.def = h.def and coalesce(r.version, '') = h.version and r.diverged_builds[1] > by_build and r.due_at <= now_at
            and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is not null
            and by_build <> all (r.diverged_builds) limit look) r
      union all
      (select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
        where r.due_at <= now_at and r.owner is null and r.due_at is not null and r.stop = 'cancel' and r.undo_open = 0 order by r.due_at limit look)
      union all
      select r.* from have h cross join lateral (
        select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
          where r.def = h.def and coalesce(r.version, '') = h.version and r.due_at <= now_at
            and r.owner is null and r.due_at is not null and r.stop = 'cancel' and r.undo_open > 0
            and by_build <> all (coalesce(r.diverged_builds, '{}')) order by r.due_at limit look) r
      union all
      (select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
        where r.due_at <= now_at and r.owner is null and r.due_at is not null and r.stop is null and r.crashes >= 5 order by r.due_at limit look)
      union all
      (select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.deadline_at from runs r
        where r.deadline_at <= now_at and r.owner is null and r.finished_at is null and r.stop is null and r.deadline_at is not null and r.undo_open = 0
        order by r.deadline_at limit look)),
    once as (
      select f.uid, f.epoch, f.crashes, f.stop, f.priority, min(f.due_at) as due_at from found f group by 1, 2, 3, 4, 5),
    ranked as (
      select o.*, row_number() over (partition by o.crashes between 2 and 4 order by o.priority desc, o.due_at, o.uid) as place from once o)
    select array_agg(r.uid order by r.priority desc, r.due_at, r.uid), array_agg(r.epoch order by r.priority desc, r.due_at, r.uid),
        array_agg(r.crashes order by r.priority desc, r.due_at, r.uid), array_agg(r.stop order by r.priority desc, r.due_at, r.uid)
      into c_uid, c_epoch, c_crashes, c_stop
      from ranked r where r.crashes not between 2 and 4 or r.place <= suspects;

    with c as materialized (
      select c.uid, c.i from unnest(c_uid, c_epoch, c_crashes, c_stop) with ordinality c (uid, epoch, crashes, stop, i) cross join lateral (
        select 1 from runs r
          where r.uid = c.uid and r.epoch = c.epoch and r.crashes = c.crashes and r.stop is not distinct from c.stop
            and r.owner is null and r.finished_at is null
          for no key update skip locked) r
        limit places),
    u as (
      update runs r set owner = by_id, epoch = r.epoch + 1, due_at = null, status = 'running', reason = null, updated_at = now_at,
          started_at = coalesce(r.started_at, now_at), version = coalesce(r.version, versions[array_position(names, r.def)])
        from c where r.uid = c.uid
        returning c.i, claimed_v1(r, r.seq) as row)
    select string_agg(u.row, E'\x1e' order by u.i) into claimed from u;
  end if;

  select ms_v1(least(min(r.due_at), (
      select r.deadline_at from runs r
        where r.owner is null and r.finished_at is null and r.stop is null and r.deadline_at is not null and r.undo_open = 0 order by r.deadline_at limit 1)))
    into next_due_ms
    from unnest(g_def, g_version, g_priority) g (def, version, priority) cross join lateral (
      select r.due_at from runs r
        where r.def = g.def and coalesce(r.version, '') = g.version and r.priority = g.priority
          and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2
        order by r.due_at limit 1) r;
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- Entries after from_seq and untaken messages after from_no of the runs still owned under (owner, epoch). One snapshot
-- for all of it (the function is stable). Rows of at most 256 entries, so that none comes near a gigabyte.
-- From the beginning: without what the last end of a round, or the last re-opening, says is behind ("behind": [first, last,
-- first, last, …]), and with the number of the last message that was taken. `bounds` has these numbers between 0 and
-- infinity: what stands between a first and a second of them is wanted. (offset 0: else the planner may read the whole
-- journal first and look at the bounds then.)
create function @schema@.load_v1(l_uid uuid[], l_owner uuid[], l_epoch int[], l_seq int[], l_no int[])
returns table (place int, entries text, mail text, taken int)
language plpgsql stable
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
begin
  if 0 = any (l_seq) then
    return query
      select l.i::int, e.entries, null::text, t.no
        from unnest(l_uid, l_owner, l_epoch, l_seq) with ordinality l (uid, owner, epoch, seq, i)
        cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
        left join lateral (
          select translate(j.meta::json ->> 'behind', '[]', '{}')::int[] as behind from journal j
            where j.uid = l.uid and j.kind in ('round.ended', 'run.reopened') order by j.seq desc limit 1) s on true
        left join lateral (
          select m.no from messages m where m.uid = l.uid and m.taken_seq is not null order by m.no desc limit 1) t on true
        cross join lateral (select array[0] || s.behind || array[2147483647] as bounds) b
        left join lateral (
          select string_agg(concat_ws(E'\x1f', j.seq, ms_v1(j.at), j.kind, j.name, j.occurrence, j.attempt, coalesce(j.meta, E'\x1d'), coalesce(j.payload, E'\x1d')),
              E'\x1e' order by j.seq) as entries
            from generate_series(1, cardinality(b.bounds), 2) g (i)
            cross join lateral (
              select j.* from journal j where j.uid = l.uid and j.seq > b.bounds[g.i] and j.seq < b.bounds[g.i + 1] offset 0) j
            group by j.seq >> 8 order by j.seq >> 8) e on true
        where l.seq = 0;
  end if;
  if 0 < any (l_seq) then
    return query
      select l.i::int, e.entries, null::text, null::int
        from unnest(l_uid, l_owner, l_epoch, l_seq) with ordinality l (uid, owner, epoch, seq, i)
        cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
        left join lateral (
          select string_agg(concat_ws(E'\x1f', j.seq, ms_v1(j.at), j.kind, j.name, j.occurrence, j.attempt, coalesce(j.meta, E'\x1d'), coalesce(j.payload, E'\x1d')),
              E'\x1e' order by j.seq) as entries
            from journal j where j.uid = l.uid and j.seq > l.seq group by j.seq >> 8 order by j.seq >> 8) e on true
        where l.seq > 0;
  end if;
  return query
    select l.i::int, null::text, m.mail, null::int
      from unnest(l_uid, l_owner, l_epoch, l_no) with ordinality l (uid, owner, epoch, no, i)
      cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
      cross join lateral (
        select string_agg(concat_ws(E'\x1f', m.no, ms_v1(m.at), m.id, m.kind, m.name, coalesce(m.meta, E'\x1d'), coalesce(m.payload, E'\x1d')),
            E'\x1e' order by m.no) as mail
          from messages m where m.uid = l.uid and m.no > l.no and m.taken_seq is null group by m.no >> 8 order by m.no >> 8) m;
end $f$;

-- Registers an incarnation; again: the same.
create function @schema@.join_v1(by_id uuid, by_build text, by_definitions text, lease_ms float8) returns float8
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  now_at constant timestamptz := clock_v1();
begin
  insert into workers (id, lease_until, started_at, beat, build, definitions)
    values (by_id, now_at + lease_ms * interval '1 millisecond', now_at, 0, by_build, by_definitions)
    on conflict (id) do update set lease_until = excluded.lease_until, build = excluded.build, definitions = excluded.definitions;
  return ms_v1(now_at);
end $f$;

-- Renews the lease and says what the worker owns, as the database sees it.
create function @schema@.beat_v1(by_id uuid, lease_ms float8)
returns table (alive boolean, now_ms float8, owned text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $f$
declare
  now_at timestamptz;
begin
  perform 1 from workers w where w.id = by_id for no key update;
  alive := found;
  now_at := clock_v1();
  update workers w set beat = w.beat + 1, lease_until = now_at + lease_ms * interval '1 millisecond' where w.id = by_id;
  -- With the seq of the last entry, which the row may lag behind (0002, C7).
  select string_agg(claimed_v1(r, j.seq), E'\x1e') into owned
    from runs r cross join lateral (select j.seq from journal j where j.uid = r.uid order by j.seq desc limit 1) j
    where r.owner = by_id;
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- Frees the runs of these owners: due at once, a paused one at rest. Never waits; a thousand at a time.
create function @schema@.free_v1(owners uuid[], crashed int) returns int
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
  freed int;
begin
  with l as materialized (
    select r.uid from runs r where r.owner = any (owners) limit 1000 for no key update skip locked)
  update runs r set owner = null, seq = greatest(r.seq, j.seq), crashes = r.crashes + crashed, updated_at = now_at,
      due_at = case when r.stop is distinct from 'pause' then now_at end,
      status = case when greatest(r.seq, j.seq) = 1 and r.stop is distinct from 'pause' then 'pending' else 'waiting' end,
      reason = case when r.stop = 'pause' then 'paused' end
    from l cross join lateral (select j.seq from journal j where j.uid = l.uid order by j.seq desc limit 1) j
    where r.uid = l.uid;
  get diagnostics freed = row_count;
  return freed;
end $f$;

-- Gives all back and removes the row. Again until nothing is left: a row may be locked by a sender for a moment.
create function @schema@.leave_v1(by_id uuid) returns int
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  freed int;
begin
  perform 1 from workers w where w.id = by_id for update;
  freed := free_v1(array[by_id], 0);
  if not exists (select 1 from runs r where r.owner = by_id) then
    delete from workers w where w.id = by_id;
    return 0;
  end if;
  return freed + 1;
end $f$;

-- Deletes the rows of unmoved workers whose lease is over, then (a later statement, O2) frees the runs of every owner
-- without a row, and hands their undelivered feed rows to `by_id` (null: to nobody), fifty at a time in the order of their
-- ids. `again_after`: also those that it has behind this id (null: not those), for who has lost an answer.
create function @schema@.reap_v1(u_id uuid[], u_beat int[], by_id uuid, again_after bigint, feed_keep_ms float8)
returns table (workers text, dead text, freed int, inherited text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
  orphans uuid[];
begin
  with d as (
    delete from workers w using unnest(u_id, u_beat) u (id, beat)
      where w.id = u.id and w.beat = u.beat and w.lease_until < now_at returning w.id)
  select string_agg(d.id::text, ',') into dead from d;

  with recursive o (id) as (
    (select r.owner from runs r where r.owner is not null order by r.owner limit 1)
    union all
    select n.owner from o cross join lateral (select r.owner from runs r where r.owner > o.id order by r.owner limit 1) n)
  select array_agg(o.id) into orphans from o where not exists (select 1 from workers w where w.id = o.id);
  freed := case when orphans is null then 0 else free_v1(orphans, 1) end;

  if by_id is not null then
    with recursive o (id) as (
      (select f.worker from feed f where f.pending order by f.worker limit 1)
      union all
      select n.worker from o cross join lateral (select f.worker from feed f where f.pending and f.worker > o.id order by f.worker limit 1) n),
    l as materialized (
      select f.id from o cross join lateral (
        select f.id from feed f where f.pending and f.worker = o.id and f.id > case when o.id = by_id then coalesce(again_after, 0) else 0 end
          order by f.id limit 50 for update skip locked) f
        where not exists (select 1 from workers w where w.id = o.id) or (again_after is not null and o.id = by_id)
        order by f.id limit 50),
    t as (
      update feed f set worker = by_id from l where f.id = l.id returning f.id)
    select string_agg(t.id::text, ',' order by t.id) into inherited from t;
  end if;
  delete from feed f using (
    select h.id from feed h where not h.pending and h.at < now_at - feed_keep_ms * interval '1 millisecond' order by h.at limit 10000 for update skip locked) h
    where f.id = h.id;

  select string_agg(concat(w.id, ':', w.beat), ',') into workers from @schema@.workers w;
  return next;
end $f$;

-- Re-opens failed runs, deepest first, all or none: each still failed with the attempt that was seen. A deadline that has
-- passed is dropped: it would end the run again at once.
create function @schema@.reopen_v1(
  r_uid uuid[], r_attempt int[], r_due boolean[], e_at float8[], e_kind text[], e_occurrence int[], e_attempt int[], e_name text, e_meta text, e_payload text
) returns boolean
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  matching int;
  now_at timestamptz;
begin
  select count(*) into matching from unnest(r_uid, r_attempt) c (uid, attempt) cross join lateral (
    select 1 from runs r where r.uid = c.uid and r.attempt = c.attempt and r.status = 'failed' for no key update) r;
  if matching < cardinality(r_uid) then
    return false;
  end if;
  now_at := clock_v1();
  insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
    select e.uid, r.seq + 1, r.epoch, instant_v1(e.at), e.occurrence, e.attempt, e.kind, e.name, e.meta, e.payload
      from unnest(r_uid, e_at, e_kind, e_occurrence, e_attempt, texts_v1(e_name), texts_v1(e_meta), texts_v1(e_payload))
        e (uid, at, kind, occurrence, attempt, name, meta, payload)
      cross join lateral (select r.seq, r.epoch from runs r where r.uid = e.uid limit 1) r;
  update runs r set seq = r.seq + 1, attempt = r.attempt + 1, crashes = 0, status = 'waiting', reason = case when c.due then null else 'child' end,
      finished_at = null, updated_at = now_at, due_at = case when c.due then now_at end,
      deadline_at = case when r.deadline_at <= now_at then null else r.deadline_at end
    from unnest(r_uid, r_due) c (uid, due) where r.uid = c.uid;
  return true;
end $f$;

-- What became of a step's own transaction whose commit was not answered: locking its run's row waits for its fate,
-- the next statement reads it.
create function @schema@.resolve_v1(of_uid uuid, of_owner uuid, of_epoch int, last_seq int) returns text
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  is_ours boolean;
begin
  select r.owner is not distinct from of_owner and r.epoch = of_epoch into is_ours from runs r where r.uid = of_uid for update;
  if exists (select 1 from journal j where j.uid = of_uid and j.seq = last_seq and j.epoch = of_epoch) then
    return 'applied';
  end if;
  return case when is_ours then 'absent' else 'stale' end;
end $f$;
