-- breaking: no
-- Limits: how many runs of a definition, of a workspace or of a key may be under way at once, and how many may begin in a time.
--
-- A1. Admission is separate from claiming. A run with limits has `slot`: false, it has none; true, it has one. Only with a slot it
--     is due (`due_at`); without one it asks since `asks_at`, and no claim sees it. What is to be cancelled, or is over a
--     deadline, needs none.
-- A2. Slots are given by one call at a time (`admission` is its lock), which counts those that are taken in a later statement than
--     the one that waited for the lock. So a limit is never exceeded, and nothing can drift: what is counted are the runs.
-- A3. A run that waits gives its slot back in the commit with which it waits, except for its own tasks and retries. One whose worker
--     died keeps it, and is due.
-- A4. Groups, not runs, are walked: a hundred thousand runs that wait under one key cost the others one index probe.

alter table @schema@.runs
  add column slot boolean,
  add column asks_at timestamptz,
  -- Where it is counted beside its definition: '' is nowhere, null together with slot.
  add column limit_workspace text collate "C",
  add column limit_key text collate "C",
  add constraint runs_due_has_slot check (slot is distinct from false or due_at is null or stop = 'cancel'),
  add constraint runs_limited check ((slot is null) = (limit_workspace is null) and (slot is null) = (limit_key is null)),
  add constraint runs_final_has_no_slot check (finished_at is null or slot is distinct from true);

-- Who has a slot.
create index runs_slots on @schema@.runs (def, limit_key) where slot;
create index runs_slots_workspace on @schema@.runs (limit_workspace) where slot;
-- Who asks for one. A group is all that stands before asks_at; those that have never run may be held up by a rate.
create index runs_asking on @schema@.runs (def, limit_workspace, limit_key, priority, (epoch = 0), asks_at, uid)
  where owner is null and asks_at is not null and stop is null and diverged_builds is null;
create index runs_asking_diverged on @schema@.runs (def, asks_at)
  where owner is null and asks_at is not null and stop is null and diverged_builds is not null;

-- What the definitions say, by whoever has joined last with their code. null: no such limit.
create table @schema@.limits (
  def text collate "C" primary key,
  concurrency int,
  per_workspace int,
  per_key int,
  key_path text,
  rate_runs int,
  rate_ms float8,
  key_rate_runs int,
  key_rate_ms float8
);

-- When runs were let in that a rate counts, oldest first, as many as it looks back at. key '': those of the definition.
create table @schema@.rates (
  def text collate "C" not null,
  key text collate "C" not null,
  times timestamptz[] not null,
  primary key (def, key)
) with (fillfactor = 50);

-- One row. Updated, not only locked: at stricter isolation levels a second call then fails and is made again.
create table @schema@.admission (
  is_only boolean primary key default true check (is_only),
  calls bigint not null,
  -- Behind which group the next call goes on.
  after_def text not null,
  after_workspace text not null,
  after_key text not null,
  after_priority int not null,
  after_fresh boolean not null
) with (fillfactor = 10);

-- A run as people see it (0001), with what it asks for.
create or replace view @schema@.shown_v1 as
  select r.uid as run, r.uid::text as uid, r.id, r.workspace, r.def, r.version, r.status, r.reason, r.stop,
      @schema@.ms_v1(coalesce(r.due_at, case when r.owner is null then r.asks_at end)) as due_at,
      r.owner::text as owner, coalesce(o.seq, r.seq) as seq, r.attempt, r.crashes, r.undo_open, r.tags, r.parent_uid::text as parent_uid, r.parent_id,
      @schema@.ms_v1(r.created_at) as created_at, @schema@.ms_v1(greatest(o.at, r.updated_at)) as updated_at, @schema@.ms_v1(r.started_at) as started_at,
      @schema@.ms_v1(r.finished_at) as finished_at, @schema@.ms_v1(r.deadline_at) as deadline_at, f.payload as input,
      l.kind as end_kind, l.name as end_name, l.occurrence as end_occurrence, l.attempt as end_attempt, @schema@.ms_v1(l.at) as end_at,
      l.meta as end_meta, l.payload as end_payload, s.state, s.place, s.error, r.slot, r.limit_workspace, r.limit_key
    from @schema@.runs r
    cross join lateral (select j.payload from @schema@.journal j where j.uid = r.uid and j.seq = 1 limit 1) f
    left join lateral (
      select j.* from @schema@.journal j where j.uid = r.uid and j.seq = r.seq and r.finished_at is not null limit 1) l on true
    left join lateral (
      select j.seq, j.at from @schema@.journal j where j.uid = r.uid and r.owner is not null order by j.seq desc limit 1) o on true
    left join lateral (select s.state, s.place, s.error from @schema@.states s where s.uid = r.uid limit 1) s on true;

-- Joins (0003) and says the limits of its definitions: those that have none any more are forgotten. `by_limits`, as JSON:
-- [def, concurrency, per workspace, per key, path, rate, its ms, rate per key, its ms].
create function @schema@.join_v2(by_id uuid, by_build text, by_definitions text, lease_ms float8, by_names text, by_limits text) returns float8
language plpgsql
set search_path = @schema@, pg_temp
as $f$
begin
  if by_names <> '' then
    delete from limits l where l.def = any (texts_v1(by_names))
      and not exists (select 1 from json_array_elements(by_limits::json) n (one) where n.one ->> 0 = l.def);
    insert into limits (def, concurrency, per_workspace, per_key, key_path, rate_runs, rate_ms, key_rate_runs, key_rate_ms)
      select n.one ->> 0, (n.one ->> 1)::int, (n.one ->> 2)::int, (n.one ->> 3)::int, n.one ->> 4,
          (n.one ->> 5)::int, (n.one ->> 6)::float8, (n.one ->> 7)::int, (n.one ->> 8)::float8
        from json_array_elements(by_limits::json) n (one) order by n.one ->> 0
      on conflict (def) do update set concurrency = excluded.concurrency, per_workspace = excluded.per_workspace, per_key = excluded.per_key,
        key_path = excluded.key_path, rate_runs = excluded.rate_runs, rate_ms = excluded.rate_ms,
        key_rate_runs = excluded.key_rate_runs, key_rate_ms = excluded.key_rate_ms;
  end if;
  return join_v1(by_id, by_build, by_definitions, lease_ms);
end $f$;

-- Whether somebody who lives could execute it.
create function @schema@.is_takeable_v1(r @schema@.runs, now_at timestamptz) returns boolean language sql stable as $f$
  select exists (
    select 1 from @schema@.workers w cross join lateral json_array_elements_text(w.definitions::json) d (name)
      where w.lease_until > now_at and w.build <> all (coalesce(r.diverged_builds, '{}'))
        and case when r.version is null then starts_with(d.name, r.def || '@') else d.name = r.def || '@' || r.version end)
$f$;

-- How many more fit under the limits of a run's definition, where it is counted.
create function @schema@.room_v1(r @schema@.runs) returns int language sql volatile as $f$
  select coalesce(least(
      l.concurrency - (select count(*) from @schema@.runs o where o.def = r.def and o.slot),
      case when r.limit_workspace <> '' then l.per_workspace - (select count(*) from @schema@.runs o where o.limit_workspace = r.limit_workspace and o.slot) end,
      case when r.limit_key <> '' then l.per_key - (select count(*) from @schema@.runs o where o.def = r.def and o.limit_key = r.limit_key and o.slot) end), 1)::int
    from (select 1) x left join @schema@.limits l on l.def = r.def
$f$;

-- Gives slots to those that ask for them, in at most `groups_most` groups and to at most `rows_most` runs: by priority, then the longer
-- asking. Under a limit that several keys (or workspaces) share, each of these gets its turn: who has fewer goes first.
-- `is_sweep`: also takes back what nobody alive could use. `is_end`: there are no groups behind the last one; `is_start`: nor before
-- the first one. `next_ms`: when somebody asks next, as far as these groups are concerned.
create function @schema@.admit_v1(groups_most int, rows_most int, is_sweep boolean)
returns table (now_ms float8, admitted int, next_ms float8, is_start boolean, is_end boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_mergejoin = off set jit = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set lock_timeout = '1s'
as $f$
declare
  now_at timestamptz;
  a admission;
  one runs;
  g_def text[];
  g_workspace text[];
  g_key text[];
  g_priority int[];
  g_fresh boolean[];
  picked uuid[];
  just int;
  last int;
begin
  insert into admission as x values (true, 1, '', '', '', -1, false) on conflict (is_only) do update set calls = x.calls + 1 returning * into a;
  now_at := clock_v1();
  admitted := 0;
  is_start := a.after_def = '';

  -- What somebody with another build may take up again.
  for one in select r.* from runs r where r.owner is null and r.asks_at <= now_at and r.asks_at is not null and r.stop is null and r.diverged_builds is not null
      and is_takeable_v1(r, now_at) order by r.asks_at limit 20 loop
    if room_v1(one) > 0 then
      update runs r set slot = true, due_at = r.asks_at, asks_at = null, updated_at = now_at
        where r.uid = one.uid and r.owner is null and r.asks_at is not null and coalesce(r.stop, '') = '';
      get diagnostics just = row_count;
      admitted := admitted + just;
    end if;
  end loop;

  with recursive g (def, workspace, key, priority, fresh) as (
    (select r.def, r.limit_workspace, r.limit_key, r.priority, r.epoch = 0 from runs r
      where r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null
        and (r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0)) > (a.after_def, a.after_workspace, a.after_key, a.after_priority, a.after_fresh)
      order by r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0) limit 1)
    union all
    select n.* from g cross join lateral (
      select r.def, r.limit_workspace, r.limit_key, r.priority, r.epoch = 0 from runs r
        where r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null
          and (r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0)) > (g.def, g.workspace, g.key, g.priority, g.fresh)
        order by r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0) limit 1) n)
  select array_agg(g.def), array_agg(g.workspace), array_agg(g.key), array_agg(g.priority), array_agg(g.fresh)
    into g_def, g_workspace, g_key, g_priority, g_fresh from (select * from g limit groups_most) g;
  last := coalesce(cardinality(g_def), 0);
  is_end := last < groups_most;
  if is_end and not is_start then
    update admission set after_def = '', after_workspace = '', after_key = '', after_priority = -1, after_fresh = false;
  elsif not is_end then
    update admission set after_def = g_def[last], after_workspace = g_workspace[last], after_key = g_key[last],
      after_priority = g_priority[last], after_fresh = g_fresh[last];
  end if;

  -- A slot in vain: nobody who lives has the code. Ten seconds, because a worker may just be joining.
  if is_sweep and last > 0 then
    update runs r set slot = false, asks_at = now_at, due_at = null
      where r.def = any (g_def) and r.slot and r.owner is null and r.stop is null and r.due_at <= now_at
        and r.updated_at < now_at - interval '10 seconds' and not is_takeable_v1(r, now_at);
  end if;

  while last > 0 and admitted < rows_most loop
    with g as (
      select g.*, l.concurrency, l.per_workspace, l.per_key, l.rate_runs, l.key_rate_runs, l.rate_ms, l.key_rate_ms
        from unnest(g_def, g_workspace, g_key, g_priority, g_fresh) g (def, workspace, key, priority, fresh)
        left join lateral (select l.* from limits l where l.def = g.def limit 1) l on true),
    d as materialized (
      select x.def, x.concurrency - (select count(*) from runs r where r.def = x.def and r.slot) as free,
          x.rate_runs - (select count(*) from rates t cross join lateral unnest(t.times) u (at)
            where t.def = x.def and t.key = '' and u.at > now_at - x.rate_ms * interval '1 millisecond') as tokens
        from (select distinct g.def, g.concurrency, g.rate_runs, g.rate_ms from g) x),
    w as materialized (
      select x.workspace, (select count(*) from runs r where r.limit_workspace = x.workspace and r.slot) as used
        from (select distinct g.workspace from g where g.workspace <> '') x),
    k as materialized (
      select x.def, x.key, (select count(*) from runs r where r.def = x.def and r.limit_key = x.key and r.slot) as used,
          x.key_rate_runs - (select count(*) from rates t cross join lateral unnest(t.times) u (at)
            where t.def = x.def and t.key = x.key and u.at > now_at - x.key_rate_ms * interval '1 millisecond') as tokens
        from (select distinct g.def, g.key, g.key_rate_runs, g.key_rate_ms from g where g.key <> '') x),
    f as (
      select g.*, coalesce(d.free, rows_most) as free, coalesce(g.per_workspace - w.used, rows_most) as free_workspace,
          coalesce(g.per_key - k.used, rows_most) as free_key,
          case when g.fresh then coalesce(d.tokens, rows_most) else rows_most end as tokens,
          case when g.fresh then coalesce(k.tokens, rows_most) else rows_most end as tokens_key,
          coalesce(k.used, w.used, 0) as held,
          case when g.key <> '' then g.def || E'\x1f' || g.key else g.workspace end as whose
        from g join d on d.def = g.def left join w on w.workspace = g.workspace left join k on k.def = g.def and k.key = g.key),
    c as (
      select f.*, r.uid, r.asks_at
        from (select f.*, least(f.free, f.free_workspace, f.free_key, f.tokens, f.tokens_key, rows_most) as most from f) f
        cross join lateral (
          select r.uid, r.asks_at from runs r
            where r.def = f.def and r.limit_workspace = f.workspace and r.limit_key = f.key and r.priority = f.priority and (r.epoch = 0) = f.fresh
              and r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null and r.asks_at <= now_at
            order by r.asks_at, r.uid limit f.most) r
        where f.most > 0),
    o as (
      select c.*, c.held + row_number() over (partition by c.whose order by c.priority desc, c.asks_at, c.uid) as turn from c),
    n as (
      select o.*, row_number() over (partition by o.def order by o.priority desc, o.turn, o.asks_at, o.uid) as place,
          row_number() over (partition by o.workspace order by o.priority desc, o.turn, o.asks_at, o.uid) as place_workspace,
          row_number() over (partition by o.def, o.key order by o.priority desc, o.turn, o.asks_at, o.uid) as place_key
        from o)
    select array_agg(n.uid) into picked from n
      where n.place <= least(n.free, n.tokens) and (n.workspace = '' or n.place_workspace <= n.free_workspace)
        and (n.key = '' or n.place_key <= least(n.free_key, n.tokens_key)) and n.place <= rows_most;
    exit when picked is null;

    with u as (
      update runs r set due_at = r.asks_at, asks_at = null, updated_at = now_at,
          slot = case when l.is_counted then true end,
          limit_workspace = case when l.is_counted then r.limit_workspace end,
          limit_key = case when l.is_counted then r.limit_key end
        from (
          select p.uid, p.old_key, l.rate_ms, l.rate_runs, l.key_rate_ms, l.key_rate_runs,
              coalesce(l.concurrency, l.per_workspace, l.per_key) is not null as is_counted
            from (select r.uid, r.def, r.limit_key as old_key from unnest(picked) p (uid) cross join lateral (
              select r.uid, r.def, r.limit_key from runs r where r.uid = p.uid limit 1) r) p
            left join lateral (select l.* from limits l where l.def = p.def limit 1) l on true) l
        -- `stop` is so compared that no index but the primary key fits: else all that ask may be read for it.
        where r.uid = l.uid and r.owner is null and r.asks_at <= now_at and coalesce(r.stop, '') = '' and r.slot is false
        returning r.def, r.epoch, l.old_key, l.rate_ms, l.rate_runs, l.key_rate_ms, l.key_rate_runs),
    t as (
      insert into rates as t (def, key, times)
        select x.def, x.key, array_agg(now_at) from (
            select u.def, '' as key from u where u.epoch = 0 and u.rate_runs is not null
            union all
            select u.def, u.old_key from u where u.epoch = 0 and u.key_rate_runs is not null and u.old_key <> '') x
          group by x.def, x.key
        on conflict (def, key) do update set times = array(
          select n.at from unnest(t.times || excluded.times) n (at)
            where n.at > now_at - (
              select case when t.key = '' then l.rate_ms else l.key_rate_ms end from limits l where l.def = t.def) * interval '1 millisecond' order by n.at))
    select count(*) into just from u;
    admitted := admitted + just;
    exit when just = 0;
  end loop;

  -- Who asks later; and, where a rate is used up, when it is not.
  select ms_v1(min(x.at)) into next_ms from (
    select r.asks_at as at from unnest(g_def, g_workspace, g_key, g_priority, g_fresh) g (def, workspace, key, priority, fresh) cross join lateral (
      select r.asks_at from runs r
        where r.def = g.def and r.limit_workspace = g.workspace and r.limit_key = g.key and r.priority = g.priority and (r.epoch = 0) = g.fresh
          and r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null and r.asks_at > now_at
        order by r.asks_at limit 1) r
    union all
    select t.times[cardinality(t.times) - least(v.runs, cardinality(t.times)) + 1] + v.ms * interval '1 millisecond'
      from (select distinct g.def, g.key from unnest(g_def, g_key, g_fresh) g (def, key, fresh) where g.fresh) g
      cross join lateral (select l.* from limits l where l.def = g.def limit 1) l
      cross join lateral (values ('', l.rate_runs, l.rate_ms), (nullif(g.key, ''), l.key_rate_runs, l.key_rate_ms)) v (key, runs, ms)
      cross join lateral (select t.times from rates t where t.def = g.def and t.key = v.key limit 1) t
      where v.runs is not null) x
    where x.at > now_at;
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- The commit call (0002), with what a turn does about its slot (`t_keep`: it keeps it while it waits) and where starts are counted
-- (`s_limit_…`, packed; '' is no start with limits). `is_asking`: a slot was asked for, or given back.
create function @schema@.commit_v2(
  by_id uuid, by_build text, by_names text, by_versions text, resent boolean, feed_asked boolean, feed_into bigint,
  in_xact text, mailbox_max int, suspect_from int,
  t_uid uuid[], t_owner uuid[], t_epoch int[], t_seq int[], t_count int[], t_taken int[], t_seen int[], t_mail int[],
  t_outcome boolean[], t_before float8[], t_due float8[], t_next text[], t_word text[], t_stop text[], t_undo int[], t_plain boolean[], t_build text, t_state text,
  e_turn int[], e_no int[], e_occurrence int[], e_attempt int[], e_at float8[], e_kind text[], e_name text, e_meta text, e_payload text,
  k_turn int[], k_no int[],
  s_turn int[], s_uid uuid[], s_claim boolean[], s_priority int[], s_delay float8[], s_timeout float8[], s_parent uuid[],
  s_parent_id text, s_workspace text, s_id text, s_def text, s_version text, s_tags text, s_meta text, s_input text,
  m_turn int[], m_to uuid[], m_claim boolean[], m_kind text[], m_workspace text, m_run text, m_id text, m_name text, m_meta text, m_payload text,
  t_waits text, t_events text, t_documents text, t_answers text,
  t_keep boolean[], s_limit_workspace text, s_limit_key text
) returns table (now_ms float8, feed_row text, silent int, answers text, claimed text, is_asking boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set lock_timeout = '100ms'
as $f$
declare
  turn_count constant int := cardinality(t_uid);
  start_count constant int := cardinality(s_uid);
  mail_count constant int := cardinality(m_turn);
  now_at timestamptz := clock_v1();
  names constant text[] := texts_v1(by_names);
  versions constant text[] := texts_v1(by_versions);
  builds constant text[] := texts_v1(t_build);
  applied int[] := array_fill(0, array[turn_count]);  -- per turn: the phase that applied it, else 0
  applied_count int := 0;
  just int[];           -- the turns applied in this phase
  touched int[];        -- those of them that changed the row of their run
  is_whole boolean;     -- all turns were applied in this phase: no need to look each entry's turn up
  turn_answers text;
  spans text;           -- what was appended, for the feed
  part text;
  part_spans text;
  starts_picked int;
  stored uuid[];        -- the starts that this call has inserted in this phase
  wanted uuid[];
  locked uuid[] := '{}';
  skipped uuid[] := '{}';
  fates text[];         -- per message: new, known, busy, none, RUN_NOT_FOUND, RUN_FINISHED, MAILBOX_FULL
  numbers int[];
  known_numbers int[];
  at_turn int;
  part_silent int;
  part_asking boolean;
  plan_mode text;
begin
  silent := 0;
  is_asking := false;
  if in_xact is not null and in_xact is distinct from pg_current_xact_id_if_assigned()::text then
    raise exception 'the transaction was ended by other means' using errcode = 'PD001';
  end if;

  for phase in 1..2 loop
    if phase = 2 then
      exit when mail_count = 0;
      -- The rows of others, and of the turns that have messages. From here on nothing waits (C1).
      plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
      if 0 = any (m_turn) then
        select array_agg(coalesce(m.target, r.uid) order by m.i) into m_to
          from unnest(m_to, texts_v1(m_workspace), texts_v1(m_run)) with ordinality m (target, workspace, id, i)
          left join lateral (select r.uid from runs r where r.workspace = m.workspace and r.id = m.id limit 1) r on m.target is null;
      end if;
      plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
      wanted := array(select u from unnest(m_to) u where u is not null
        union select t.uid from unnest(t_uid, t_mail) t (uid, mail) where t.mail = 1);
      locked := array(select r.uid from runs r where r.uid = any (wanted) for no key update skip locked);
      if cardinality(locked) < cardinality(wanted) then
        skipped := array(select r.uid from runs r where r.uid = any (wanted) and r.uid <> all (locked));
      end if;
      if cardinality(skipped) > 0 then
        for at_turn in select t.i from unnest(t_uid, t_mail) with ordinality t (uid, mail, i)
            where t.mail = 1 and (t.uid = any (skipped)
              or exists (select 1 from unnest(m_turn, m_to) m (turn, target) where m.turn = t.i and m.target = any (skipped))) loop
          t_mail[at_turn] := 2;
          answers := nullif(concat_ws(E'\x1e', answers, concat_ws(E'\x1f', 't', at_turn, 'busy')), '');
        end loop;
      end if;
      -- The clock again: a message is accepted after its run's row was locked, so times follow numbers.
      now_at := clock_v1();
    end if;

    -- Turns. Park compares the counter on the row itself, so a message that came first is seen, whatever the snapshot.
    just := '{}';
    if phase = 1 and true = any (t_plain) then
      perform 1 from workers w where w.id = by_id for key share;
      if found then
        select coalesce(array_agg(d.i), '{}'),
            string_agg(concat_ws(E'\x1f', 't', d.i, 'done', r.inbox, coalesce(r.stop, ''), 0), E'\x1e') filter (where r.inbox > 0 or r.stop is not null),
            count(*) filter (where r.inbox = 0 and r.stop is null),
            string_agg(concat(d.uid, ':', d.seq + 1, ':', d.seq + d.count), ',') filter (where feed_asked)
          into just, turn_answers, silent, spans
          from unnest(t_uid, t_epoch, t_seq, t_count, t_outcome, t_plain) with ordinality d (uid, epoch, seq, count, outcome, plain, i)
          cross join lateral (
            select r.inbox, r.stop from runs r
              where r.uid = d.uid and r.owner is not distinct from by_id and r.epoch = d.epoch and r.seq <= d.seq
                and d.seq = (select j.seq from journal j where j.uid = d.uid order by j.seq desc limit 1)
                and (r.crashes = 0 or not d.outcome) limit 1) r
          where d.plain;
        foreach at_turn in array just loop applied[at_turn] := phase; end loop;
      end if;
    end if;
    if (phase = 1 and cardinality(just) < turn_count) or (phase = 2 and 1 = any (t_mail)) then
      with u as (
        update runs r set
            seq = d.seq + d.count,
            updated_at = now_at,
            taken = r.taken + coalesce(d.taken, 0),
            crashes = case when d.outcome then 0 else r.crashes end,
            owner = case when d.next = 'go' then r.owner end,
            -- A1: who waits gives its slot back, and asks for one when it goes on. What is to be cancelled needs none.
            slot = case
              when d.next = 'go' or r.slot is null then r.slot
              when d.next = 'end' or r.stop = 'pause' then false
              when d.next = 'park' then r.slot and coalesce(d.keep, false)
              else r.slot end,
            asks_at = case
              when d.next = 'go' or d.next = 'end' or r.stop is not null or r.slot is null then null
              when r.slot and (d.next = 'release' or coalesce(d.keep, false)) then null
              when d.next = 'release' or r.inbox > d.seen or d.build is not null then now_at
              else instant_v1(d.due) end,
            due_at = case
              when d.next = 'go' or d.next = 'end' or r.stop = 'pause' then null
              when r.slot is not null and r.stop is null and not (r.slot and (d.next = 'release' or coalesce(d.keep, false))) then null
              when d.next = 'release' or (r.stop = 'cancel' and d.stop_seen is distinct from 'cancel') or r.inbox > d.seen or d.build is not null then now_at
              else instant_v1(d.due) end,
            status = case
              when d.next = 'go' then r.status
              when d.next = 'end' then d.word
              when d.next = 'release' and d.seq + d.count = 1 and r.stop is distinct from 'pause' then 'pending'
              else 'waiting' end,
            reason = case
              when d.next = 'go' or d.next = 'end' then null
              when r.stop = 'pause' then 'paused'
              when d.next = 'park' then d.word end,
            finished_at = case when d.next = 'end' then now_at end,
            undo_open = coalesce(d.undo, r.undo_open),
            diverged_builds = case when d.build is null then r.diverged_builds
              else (array[d.build] || array_remove(r.diverged_builds, d.build))[1:8] end
          from unnest(t_uid, t_owner, t_epoch, t_seq, t_count, t_taken, t_seen, t_mail, t_outcome, t_before, t_due, t_next, t_word, t_stop, t_undo, builds, t_keep)
            with ordinality d (uid, owner, epoch, seq, count, taken, seen, mail, outcome, before, due, next, word, stop_seen, undo, build, keep, i)
          where coalesce(d.mail, 0) = phase - 1 and applied[d.i] = 0
            and r.uid = d.uid and r.owner is not distinct from coalesce(d.owner, by_id) and r.epoch = d.epoch and r.seq <= d.seq
            and d.seq = (select j.seq from journal j where j.uid = d.uid order by j.seq desc limit 1)
            and (d.before is null or instant_v1(d.before) <= now_at)
            and (d.next <> 'end' or r.stop is null or r.stop is not distinct from d.stop_seen)
          returning d.i, d.count, r.uid, r.seq, r.inbox, r.stop, r.slot is not null and d.next <> 'go' as is_asking)
      select coalesce(array_agg(u.i), '{}'),
          string_agg(concat_ws(E'\x1f', 't', u.i, 'done', u.inbox, coalesce(u.stop, ''), 0), E'\x1e') filter (where u.inbox > 0 or u.stop is not null),
          count(*) filter (where u.inbox = 0 and u.stop is null),
          string_agg(concat(u.uid, ':', u.seq - u.count + 1, ':', u.seq), ',') filter (where feed_asked and u.count > 0),
          coalesce(bool_or(u.is_asking), false)
        into touched, part, part_silent, part_spans, part_asking from u;
      is_asking := is_asking or part_asking;
      foreach at_turn in array touched loop applied[at_turn] := phase; end loop;
      just := just || touched;
      silent := silent + part_silent;
      turn_answers := nullif(concat_ws(E'\x1e', turn_answers, part), '');
      spans := nullif(concat_ws(',', spans, part_spans), '');
    end if;

    if cardinality(just) > 0 then
      applied_count := applied_count + cardinality(just);
      is_whole := cardinality(just) = turn_count;
      insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
        select t_uid[e.turn], t_seq[e.turn] + e.no, t_epoch[e.turn], instant_v1(e.at), e.occurrence, e.attempt, e.kind, e.name, e.meta, e.payload
          from unnest(e_turn, e_no, e_occurrence, e_attempt, e_at, e_kind, texts_v1(e_name), texts_v1(e_meta), texts_v1(e_payload))
            e (turn, no, occurrence, attempt, at, kind, name, meta, payload)
          where is_whole or applied[e.turn] = phase;
      if t_state <> '' then
        insert into states (uid, place, error, state)
          select t.uid, nullif(split_part(t.shown, E'\x1c', 1), ''), nullif(split_part(t.shown, E'\x1c', 2), ''), nullif(split_part(t.shown, E'\x1c', 3), '')
            from unnest(t_uid, texts_v1(t_state)) with ordinality t (uid, shown, i)
            where t.shown is not null and (is_whole or applied[t.i] = phase)
          on conflict (uid) do update set
            place = coalesce(excluded.place, states.place),
            error = case when excluded.place is null then states.error else excluded.error end,
            state = coalesce(excluded.state, states.state);
      end if;
      if cardinality(k_turn) > 0 then
        plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
        update messages m set taken_seq = case when k.no > 0 then t_seq[k.turn] + t_count[k.turn] else 0 end, payload = null
          from unnest(k_turn, k_no) k (turn, no)
          where applied[k.turn] = phase and m.uid = t_uid[k.turn] and m.no = abs(k.no);
        plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
      end if;
    end if;

    -- Starts: the children of the turns just applied (their ids are their uids: they never wait), and in phase 1
    -- those of callers, in order of their ids.
    if start_count > 0 then
      with s as (
        select * from unnest(s_turn, s_uid, s_claim, s_priority, s_delay, s_timeout, s_parent, texts_v1(s_parent_id), texts_v1(s_workspace),
            texts_v1(s_id), texts_v1(s_def), texts_v1(s_version), texts_v1(s_tags), texts_v1(s_limit_workspace), texts_v1(s_limit_key))
            with ordinality s (turn, uid, claim, priority, delay, timeout, parent, parent_id, workspace, id, def, version, tags, limit_workspace, limit_key, i)
          where (s.turn = 0 and phase = 1) or applied[s.turn] = phase),
      n as (
        insert into runs (uid, owner, due_at, created_at, updated_at, started_at, deadline_at, epoch, seq, priority, status,
            workspace, id, def, version, parent_uid, parent_id, tags, slot, asks_at, limit_workspace, limit_key)
          select s.uid, case when s.claim then by_id end,
              case when not s.claim and s.limit_workspace is null then now_at + s.delay * interval '1 millisecond' end, now_at, now_at, case when s.claim then now_at end,
              now_at + (s.delay + s.timeout) * interval '1 millisecond', case when s.claim then 1 else 0 end, 1, s.priority,
              case when s.claim then 'running' else 'pending' end, s.workspace, s.id, s.def,
              coalesce(s.version, case when s.claim then versions[array_position(names, s.def)] end), s.parent, s.parent_id, s.tags,
              case when s.limit_workspace is not null then false end,
              case when s.limit_workspace is not null then now_at + s.delay * interval '1 millisecond' end, s.limit_workspace, s.limit_key
            from s order by s.workspace collate "C", s.id collate "C", s.i
            on conflict do nothing
            returning uid)
      select (select count(*) from s), (select coalesce(array_agg(n.uid), '{}') from n), (select string_agg(concat(n.uid, ':1:1'), ',') from n where feed_asked)
        into starts_picked, stored, part_spans;
      if starts_picked > 0 then
        is_asking := is_asking or s_limit_workspace <> '';
        -- New rows are ours: a message to a child of the same delta finds it.
        if phase = 2 then
          locked := locked || array(select s.uid from unnest(s_turn, s_uid) s (turn, uid) where applied[s.turn] = phase);
        end if;
        spans := nullif(concat_ws(',', spans, part_spans), '');
        is_whole := cardinality(stored) = starts_picked;
        insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
          select s.uid, 1, case when s.claim then 1 else 0 end, now_at, 0, 0, 'run.created', '', s.meta, s.input
            from unnest(s_turn, s_uid, s_claim, texts_v1(s_meta), texts_v1(s_input)) s (turn, uid, claim, meta, input)
            where ((s.turn = 0 and phase = 1) or applied[s.turn] = phase)
              and (is_whole or exists (select 1 from runs r where r.uid = s.uid))
            on conflict do nothing;
        -- A later statement than the insert: only now those are visible that it met. Our own uid is our own start,
        -- and `done` says that an earlier sending has stored it.
        if phase = 1 and not is_whole then
          plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
          select string_agg(case when r.uid = s.uid then concat_ws(E'\x1f', 's', s.i, 'done') else
              concat_ws(E'\x1f', 's', s.i, 'exists', r.uid, r.def, (r.def = s.def and j.payload is not distinct from s.input)::int) end, E'\x1e'),
              string_agg(s.id, ', ') filter (where r.uid is null)
            into part, part_spans
            from unnest(s_turn, s_uid, texts_v1(s_workspace), texts_v1(s_id), texts_v1(s_def), texts_v1(s_input))
              with ordinality s (turn, uid, workspace, id, def, input, i)
            left join lateral (select r.uid, r.def from runs r where r.workspace = s.workspace and r.id = s.id limit 1) r on true
            left join lateral (select j.payload from journal j where j.uid = r.uid and j.seq = 1 limit 1) j on true
            where s.turn = 0 and (r.uid is distinct from s.uid or s.uid <> all (stored));
          plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
          if part_spans is not null then
            raise exception 'the uid of % is taken', part_spans using errcode = '23505';
          end if;
          answers := nullif(concat_ws(E'\x1e', answers, part), '');
        end if;
      end if;
    end if;
  end loop;

  if t_waits is not null or t_events is not null then
    perform listen_v1(t_uid, applied, t_waits, t_events, now_at);
  end if;
  if t_documents is not null or t_answers is not null then
    perform leave_behind_v1(t_uid, t_seq, applied, t_documents, t_answers);
  end if;

  -- Mail. Known ids come first (they change nothing, whatever became of the run), then the state of the run, then the
  -- limit, which is for callers' signals only: a cancel and a child's result must not be lost.
  if mail_count > 0 then
    plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
    select array_agg(k.no order by m.i) into known_numbers
      from unnest(m_to, texts_v1(m_id)) with ordinality m (target, id, i)
      left join lateral (select k.no from messages k where k.uid = m.target and k.id = m.id limit 1) k on true;
    plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);

    with m as (
      select m.i, m.turn, m.target, m.id, m.kind, m.is_live, r.uid, r.finished_at, r.inbox, r.taken, m.known,
          m.target = any (skipped) as is_skipped, row_number() over (partition by m.is_live, m.target, m.id order by m.i) as copy
        from (
          select m.*, m.turn = 0 or applied[m.turn] = 2 as is_live, m.target = any (locked) as is_locked
            from unnest(m_turn, m_to, texts_v1(m_id), m_kind, known_numbers) with ordinality m (turn, target, id, kind, known, i)) m
        left join lateral (select r.uid, r.finished_at, r.inbox, r.taken from runs r where r.uid = m.target limit 1) r on m.is_locked),
    placed as (
      select m.*, row_number() over (partition by m.target, m.is_live and m.known is null and m.copy = 1 order by m.i) as place from m),
    judged as (
      select p.*, case
          when not p.is_live then 'none'
          when p.is_skipped then 'busy'
          when p.uid is null then 'RUN_NOT_FOUND'
          when p.known is not null then 'known'
          when p.finished_at is not null then 'RUN_FINISHED'
          when p.copy > 1 then 'copy'
          when p.turn = 0 and p.kind in ('signal', 'trigger') and p.inbox - p.taken + p.place > mailbox_max then 'MAILBOX_FULL'
          else 'new' end as fate
        from placed p),
    numbered as (
      select j.i, j.is_live, j.target, j.id, j.fate,
          coalesce(j.known, j.inbox + row_number() over (partition by j.target, j.fate order by j.i)) as no from judged j),
    settled as (
      select n.i, n.fate, first_value(n.fate) over w as first_fate, first_value(n.no) over w as no
        from numbered n window w as (partition by n.is_live, n.target, n.id order by n.i))
    select array_agg(case when s.fate <> 'copy' then s.fate when s.first_fate = 'new' then 'known' else s.first_fate end order by s.i),
        array_agg(coalesce(s.no, 0) order by s.i)
      into fates, numbers from settled s;

    insert into messages (uid, no, at, id, kind, name, meta, payload)
      select m.target, m.no, now_at, m.id, m.kind, m.name, m.meta, m.payload
        from unnest(m_to, numbers, fates, texts_v1(m_id), m_kind, texts_v1(m_name), texts_v1(m_meta), texts_v1(m_payload))
          m (target, no, fate, id, kind, name, meta, payload)
        where m.fate = 'new';

    -- Whoever makes a run runnable may take it in the same commit: `take`, written once for signals and cancels.
    if 'new' = any (fates) then
      with g as (
        select m.target, count(*)::int as count, bool_or(m.kind = 'cancel') as cancel,
            bool_or(m.kind = 'cancel' and m.name = 'force') as force, bool_or(m.claim) as claim
          from unnest(m_to, fates, m_kind, texts_v1(m_name), m_claim) m (target, fate, kind, name, claim) where m.fate = 'new' group by m.target),
      t as (
        select g.*, r.is_taken, r.version from g cross join lateral (
          select r.version, g.claim and r.owner is null and r.crashes < suspect_from
              and (g.cancel or r.stop is null or r.stop = 'cancel')
              and (((g.cancel or r.stop is not distinct from 'cancel') and (r.undo_open = 0 or g.force))
                or ((g.cancel or r.stop is not distinct from 'cancel' or ((r.status = 'waiting' or r.due_at <= now_at) and r.slot is not false))
                  and not (by_build = any (coalesce(r.diverged_builds, '{}')))
                  and exists (select 1 from unnest(names, versions) w (name, version)
                    where w.name = r.def and (r.version is null or w.version = r.version)))) as is_taken
            from runs r where r.uid = g.target limit 1) r),
      u as (
        update runs r set
            inbox = r.inbox + t.count,
            stop = case when t.cancel then 'cancel' else r.stop end,
            undo_open = case when t.force then 0 else r.undo_open end,
            due_at = case
              when t.is_taken or r.owner is not null then null
              when t.cancel or r.stop is not distinct from 'cancel' or (r.stop is null and r.status = 'waiting' and r.slot is not false)
                then least(r.due_at, now_at)
              else r.due_at end,
            asks_at = case when r.owner is null and r.stop is null and r.status = 'waiting' and r.slot is false then least(r.asks_at, now_at) else r.asks_at end,
            owner = case when t.is_taken then by_id else r.owner end,
            epoch = case when t.is_taken then r.epoch + 1 else r.epoch end,
            status = case when t.is_taken then 'running' else r.status end,
            reason = case when t.is_taken then null else r.reason end,
            started_at = case when t.is_taken then coalesce(r.started_at, now_at) else r.started_at end,
            updated_at = case when t.is_taken then now_at else r.updated_at end,
            version = case when t.is_taken then coalesce(r.version, versions[array_position(names, r.def)]) else r.version end
          from t where r.uid = t.target
          returning t.is_taken, r.slot is false as is_asking, claimed_v1(r, r.seq) as row)
      select string_agg(u.row, E'\x1e') filter (where u.is_taken), coalesce(bool_or(u.is_asking), false) into claimed, part_asking from u;
      is_asking := is_asking or part_asking;
    end if;

    select string_agg(concat_ws(E'\x1f', 'm', m.i, case when m.fate in ('new', 'known') then 'done' when m.fate = 'busy' then 'busy' else 'refused' end,
        coalesce(r.uid::text, ''), coalesce(r.inbox, 0), coalesce(r.stop, ''), m.no, m.fate, coalesce(r.status, '')), E'\x1e')
      into part
      from unnest(m_turn, m_to, fates, numbers) with ordinality m (turn, target, fate, no, i)
      left join lateral (select r.uid, r.inbox, r.stop, r.status from runs r where r.uid = m.target limit 1) r on true
      where m.turn = 0;
    answers := nullif(concat_ws(E'\x1e', answers, part), '');
    -- The turns' rows once more: mail of this batch may have come behind them.
    silent := 0;
    select string_agg(concat_ws(E'\x1f', 't', t.i, 'done', r.inbox, coalesce(r.stop, ''), 0), E'\x1e') into turn_answers
      from unnest(t_uid, applied) with ordinality t (uid, phase, i)
      cross join lateral (select r.inbox, r.stop from runs r where r.uid = t.uid limit 1) r
      where t.phase > 0;
  end if;

  -- What the fence did not let through. Our own epoch at the last seq: an earlier sending has stored it (C5).
  if applied_count < turn_count then
    select string_agg(concat_ws(E'\x1f', 't', t.i, case
          when resent and t.count > 0 and j.epoch = t.epoch then 'done'
          when l.seq = t.seq and r.epoch = t.epoch and r.owner is not distinct from coalesce(t.owner, by_id) then case
            when instant_v1(t.before) > now_at then 'early'
            when t.next = 'end' and r.stop is not null and r.stop is distinct from t.stop_seen then 'stopping'
            else 'busy' end
          when resent and t.count = 0 then 'done'
          else 'stale' end, coalesce(r.inbox, 0), coalesce(r.stop, ''), 1), E'\x1e')
      into part
      from unnest(t_uid, t_owner, t_epoch, t_seq, t_count, t_mail, t_before, t_next, t_stop, applied)
        with ordinality t (uid, owner, epoch, seq, count, mail, before, next, stop_seen, phase, i)
      left join lateral (select r.owner, r.epoch, r.inbox, r.stop from runs r where r.uid = t.uid limit 1) r on true
      left join lateral (select j.seq from journal j where j.uid = t.uid order by j.seq desc limit 1) l on true
      left join lateral (select j.epoch from journal j where j.uid = t.uid and j.seq = t.seq + t.count limit 1) j on true
      where t.phase = 0 and coalesce(t.mail, 0) < 2;
    answers := nullif(concat_ws(E'\x1e', answers, part), '');
  end if;

  if spans is not null then
    if feed_into is null then
      insert into feed (worker, pending, at, ranges) values (by_id, true, now_at, spans) returning id::text into feed_row;
    else
      update feed f set ranges = concat_ws(',', f.ranges, spans) where f.id = feed_into returning f.id::text into feed_row;
    end if;
  end if;

  answers := nullif(concat_ws(E'\x1e', turn_answers, answers), '');
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- For processes that do not know of limits yet.
create or replace function @schema@.commit_v1(
  by_id uuid, by_build text, by_names text, by_versions text, resent boolean, feed_asked boolean, feed_into bigint,
  in_xact text, mailbox_max int, suspect_from int,
  t_uid uuid[], t_owner uuid[], t_epoch int[], t_seq int[], t_count int[], t_taken int[], t_seen int[], t_mail int[],
  t_outcome boolean[], t_before float8[], t_due float8[], t_next text[], t_word text[], t_stop text[], t_undo int[], t_plain boolean[], t_build text, t_state text,
  e_turn int[], e_no int[], e_occurrence int[], e_attempt int[], e_at float8[], e_kind text[], e_name text, e_meta text, e_payload text,
  k_turn int[], k_no int[],
  s_turn int[], s_uid uuid[], s_claim boolean[], s_priority int[], s_delay float8[], s_timeout float8[], s_parent uuid[],
  s_parent_id text, s_workspace text, s_id text, s_def text, s_version text, s_tags text, s_meta text, s_input text,
  m_turn int[], m_to uuid[], m_claim boolean[], m_kind text[], m_workspace text, m_run text, m_id text, m_name text, m_meta text, m_payload text,
  t_waits text, t_events text, t_documents text, t_answers text
) returns table (now_ms float8, feed_row text, silent int, answers text, claimed text)
language sql
as $f$
  select c.now_ms, c.feed_row, c.silent, c.answers, c.claimed from @schema@.commit_v2(
    by_id, by_build, by_names, by_versions, resent, feed_asked, feed_into, in_xact, mailbox_max, suspect_from, t_uid, t_owner,
    t_epoch, t_seq, t_count, t_taken, t_seen, t_mail, t_outcome, t_before, t_due, t_next, t_word, t_stop, t_undo, t_plain,
    t_build, t_state, e_turn, e_no, e_occurrence, e_attempt, e_at, e_kind, e_name, e_meta, e_payload, k_turn, k_no, s_turn,
    s_uid, s_claim, s_priority, s_delay, s_timeout, s_parent, s_parent_id, s_workspace, s_id, s_def, s_version, s_tags, s_meta,
    s_input, m_turn, m_to, m_claim, m_kind, m_workspace, m_run, m_id, m_name, m_meta, m_payload, t_waits, t_events, t_documents,
    t_answers, null, '', '') c
$f$;

-- One start (0004), with where it is counted: null, nowhere.
create function @schema@.start_v2(
  s_uid uuid, s_priority int, s_delay float8, s_timeout float8, s_workspace text, s_id text, s_def text, s_version text, s_tags text,
  s_meta text, s_input text, m_id text, m_name text, m_payload text, is_within boolean, s_limit_workspace text, s_limit_key text
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan
as $f$
begin
  return query select * from start_v1(
    s_uid, s_priority, s_delay, s_timeout, s_workspace, s_id, s_def, s_version, s_tags, s_meta, s_input, m_id, m_name, m_payload, is_within);
  if s_limit_workspace is not null then
    -- Nobody has seen it yet: it is of this transaction.
    update runs r set slot = false, asks_at = r.due_at, due_at = null, limit_workspace = s_limit_workspace, limit_key = s_limit_key
      where r.uid = s_uid and r.slot is null and r.epoch = 0 and r.owner is null and r.due_at is not null;
  end if;
end $f$;

-- As before (0003, 0004), and a run without a slot asks for one instead of being due.

create or replace function @schema@.free_v1(owners uuid[], crashed int) returns int
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
      due_at = case when r.stop is distinct from 'pause' and (r.slot is distinct from false or r.stop = 'cancel') then now_at end,
      asks_at = case when r.slot is false and r.stop is null then now_at end,
      slot = case when r.slot and r.stop = 'pause' then false else r.slot end,
      status = case when greatest(r.seq, j.seq) = 1 and r.stop is distinct from 'pause' then 'pending' else 'waiting' end,
      reason = case when r.stop = 'pause' then 'paused' end
    from l cross join lateral (select j.seq from journal j where j.uid = l.uid order by j.seq desc limit 1) j
    where r.uid = l.uid;
  get diagnostics freed = row_count;
  return freed;
end $f$;

create or replace function @schema@.reopen_v1(
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
      finished_at = null, updated_at = now_at, due_at = case when c.due and r.slot is null then now_at end,
      asks_at = case when c.due and r.slot is not null then now_at end,
      deadline_at = case when r.deadline_at <= now_at then null else r.deadline_at end
    from unnest(r_uid, r_due) c (uid, due) where r.uid = c.uid;
  return true;
end $f$;

create or replace function @schema@.pause_v1(of_workspace text, of_id text, is_paused boolean) returns table (uid text, refusal text, status text)
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
        reason = case when r.owner is null then 'paused' end,
        slot = case when r.owner is null and r.slot then false else r.slot end,
        asks_at = case when r.owner is null and r.slot is not null then coalesce(r.asks_at, r.due_at) end,
        due_at = case when r.slot is null then r.due_at end
      where runs.uid = r.uid;
  elsif not is_paused and r.stop = 'pause' then
    now_at := clock_v1();
    update runs set stop = null, updated_at = now_at,
        due_at = case when r.owner is not null or r.slot is not null then null when r.epoch = 0 then coalesce(r.due_at, now_at) else now_at end,
        asks_at = case when r.owner is not null or r.slot is null then null when r.epoch = 0 then coalesce(r.asks_at, now_at) else now_at end,
        status = case when r.owner is not null then r.status when r.epoch = 0 then 'pending' else 'waiting' end,
        reason = case when r.owner is null and r.diverged_builds is not null then 'diverged' end
      where runs.uid = r.uid;
  end if;
  return next;
end $f$;

create or replace function @schema@.fork_v1(
  of_uid uuid, up_to int, f_uid uuid, f_id text, f_meta text, f_input text, o_seq int[], o_payload text, forgets int[]
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  now_at constant timestamptz := clock_v1();
begin
  insert into runs (uid, due_at, created_at, updated_at, started_at, deadline_at, epoch, seq, priority, status, workspace, id, def, version, tags,
      slot, asks_at, limit_workspace, limit_key)
    select f_uid, case when r.slot is null then now_at end, now_at, now_at, r.started_at, now_at + (r.deadline_at - r.created_at), 0, up_to, r.priority, 'pending',
        r.workspace, f_id, r.def, r.version, r.tags,
        case when r.slot is not null then false end, case when r.slot is not null then now_at end, r.limit_workspace, r.limit_key
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

-- The run that starts with this key push back while it has never run.
create table @schema@.debounces (
  workspace text collate "C" not null,
  def text collate "C" not null,
  key text collate "C" not null,
  uid uuid not null,
  primary key (workspace, def, key)
);
create index debounces_run on @schema@.debounces (uid);

-- A start (start_v2) that pushes the last one with its key back by its own delay, with its own input, if that has never run. The row
-- of the key is the lock: of two at once one comes second. `uid` and `id`: the run it is.
create function @schema@.debounce_v1(
  d_key text, s_uid uuid, s_priority int, s_delay float8, s_timeout float8, s_workspace text, s_id text, s_def text, s_version text, s_tags text,
  s_meta text, s_input text, s_limit_workspace text, s_limit_key text
) returns table (kind text, uid text, def text, is_same boolean, id text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  now_at timestamptz;
  pushed runs;
begin
  insert into debounces as d (workspace, def, key, uid) values (s_workspace, s_def, d_key, s_uid)
    on conflict on constraint debounces_pkey do update set key = excluded.key;
  now_at := clock_v1();
  update runs r set updated_at = now_at, deadline_at = now_at + (s_delay + s_timeout) * interval '1 millisecond',
      due_at = case when s_limit_workspace is null then now_at + s_delay * interval '1 millisecond' end,
      asks_at = case when s_limit_workspace is not null then now_at + s_delay * interval '1 millisecond' end,
      slot = case when s_limit_workspace is not null then false end, limit_workspace = s_limit_workspace, limit_key = s_limit_key
    from debounces d
    where d.workspace = s_workspace and d.def = s_def and d.key = d_key and r.uid = d.uid
      and r.owner is null and r.epoch = 0 and r.seq = 1 and r.status = 'pending' and r.stop is null
    returning r.* into pushed;
  if pushed.uid is not null then
    update journal j set payload = s_input where j.uid = pushed.uid and j.seq = 1;
    return query select 'done'::text, pushed.uid::text, s_def, true, pushed.id;
    return;
  end if;
  return query select n.kind, coalesce(n.uid, s_uid::text), coalesce(n.def, s_def), n.is_same, s_id from start_v2(
    s_uid, s_priority, s_delay, s_timeout, s_workspace, s_id, s_def, s_version, s_tags, s_meta, s_input, null, null, null, false,
    s_limit_workspace, s_limit_key) n;
  update debounces d set uid = s_uid where d.workspace = s_workspace and d.def = s_def and d.key = d_key;
end $f$;

-- As before (0004), with what was added here.
create or replace function @schema@.prune_v1(keep_ms float8, after_uid uuid, look int, most int) returns table (is_ours boolean, pruned int, next_uid text)
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
    delete from debounces d where d.uid = any (doomed);
    pruned := cardinality(doomed);
    next_uid := case when pruned = most then doomed[pruned] when cardinality(seen) = look then seen[look] end;
  end if;
  return next;
end $f$;
