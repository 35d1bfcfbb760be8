-- breaking: no
-- Definitions that are stored and not code: graphs, with their versions.
--
-- D1. Versions of a name are 1..n without holes, append only. Whoever changes a definition locks the one row of definition_changes
--     first, so that revisions follow the order of the commits: who has seen a revision has seen all that is below it.
-- D2. What a version says of limits and triggers becomes rows in the transaction that makes it the current one.
-- D3. A run of a stored definition has '#' and the number as its version, which no code has: neither is taken for the other.
-- D4. A definition of a workspace is started in that one alone: by nothing that stands here with its version.

create table @schema@.definition_changes (
  is_only boolean primary key default true check (is_only),
  revision bigint not null
);
insert into @schema@.definition_changes (revision) values (0);

-- `workspace` null: for all of them. `version`: the current one.
create table @schema@.definitions (
  name text collate "C" primary key,
  workspace text collate "C",
  version int not null,
  revision bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz
);
create index definitions_workspace on @schema@.definitions (workspace, name);

create table @schema@.definition_versions (
  name text collate "C" not null,
  version int not null,
  created_at timestamptz not null,
  note text,
  json text not null,
  primary key (name, version)
);

-- Which versions unfinished runs are of.
create index runs_stored on @schema@.runs (def, version) where finished_at is null and left(version, 1) = '#';

-- `expected`: the version that must be the current one, 0: there is none yet; null: whatever it is. `s_limits`: as join_v2 is told, of
-- this definition. `s_schedules`, as JSON: [workspace, id, spec, plan, input, next slot, its moment]; `s_events`: as subscribe_v1.
-- `kind`: saved; same, it is the current version already; changed, another one is (`version`); taken, the name is another's; code, it
-- is that of code which a live worker has.
create function @schema@.save_definition_v1(
  s_name text, s_workspace text, s_json text, s_note text, expected int, s_limits text, s_schedules text, s_events text
) returns table (kind text, version int)
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  now_at constant timestamptz := clock_v1();
  h definitions;
  is_same boolean;
  changed bigint;
begin
  insert into definition_changes (revision) values (0) on conflict do nothing;
  perform 1 from definition_changes c for update;
  select * into h from definitions d where d.name = s_name;
  is_same := exists (select 1 from definition_versions v where v.name = s_name and v.version = h.version and v.json = s_json);
  version := h.version;
  if h.name is not null and h.workspace is distinct from s_workspace then
    kind := 'taken';
  elsif exists (
    select 1 from workers w cross join lateral json_array_elements_text(w.definitions::json) o (name)
      where w.lease_until > now_at and starts_with(o.name, s_name || '@') and not starts_with(o.name, s_name || '@#')) then
    kind := 'code';
  elsif expected <> coalesce(h.version, 0) and not (is_same and h.version = expected + 1) then
    -- Not if it is what they have asked for: an answer may have been lost.
    kind := 'changed';
  end if;
  if kind is not null then
    return next;
    return;
  end if;
  kind := case when is_same then 'same' else 'saved' end;
  if kind = 'saved' or h.archived_at is not null then
    update definition_changes c set revision = c.revision + 1 returning c.revision into changed;
    version := case when kind = 'saved' then coalesce(h.version, 0) + 1 else h.version end;
    insert into definitions as d (name, workspace, version, revision, created_at, updated_at)
      values (s_name, s_workspace, save_definition_v1.version, changed, now_at, now_at)
      on conflict (name) do update
        set version = excluded.version, revision = excluded.revision, updated_at = excluded.updated_at, archived_at = null;
  end if;
  if kind = 'saved' then
    insert into definition_versions (name, version, created_at, note, json)
      values (s_name, save_definition_v1.version, now_at, s_note, s_json);
  end if;
  insert into limits (def, concurrency, per_workspace, per_key, key_path, rate_runs, rate_ms, key_rate_runs, key_rate_ms)
    select n.one ->> 0, (n.one ->> 1)::int, (n.one ->> 2)::int, (n.one ->> 3)::int, n.one ->> 4,
        (n.one ->> 5)::int, (n.one ->> 6)::float8, (n.one ->> 7)::int, (n.one ->> 8)::float8
      from json_array_elements(s_limits::json) n (one)
    on conflict (def) do update set concurrency = excluded.concurrency, per_workspace = excluded.per_workspace, per_key = excluded.per_key,
      key_path = excluded.key_path, rate_runs = excluded.rate_runs, rate_ms = excluded.rate_ms,
      key_rate_runs = excluded.key_rate_runs, key_rate_ms = excluded.key_rate_ms;
  delete from schedules s where s.of_def = s_name and not exists (
    select 1 from json_array_elements(s_schedules::json) n (one) where n.one ->> 0 = s.workspace and n.one ->> 1 = s.id);
  insert into schedules as s (workspace, id, def, spec, plan, overlap, input, of_def, next_slot, next_at, created_at, updated_at)
    select n.one ->> 0, n.one ->> 1, s_name, n.one ->> 2, n.one ->> 3, 'allow', n.one ->> 4, s_name,
        instant_v1((n.one ->> 5)::float8), instant_v1((n.one ->> 6)::float8), now_at, now_at
      from json_array_elements(s_schedules::json) n (one)
    on conflict (workspace, id) do update
      set def = excluded.def, plan = excluded.plan, overlap = excluded.overlap, input = excluded.input, of_def = excluded.of_def,
        spec = excluded.spec, revision = s.revision + 1, updated_at = excluded.updated_at,
        next_slot = case when s.spec = excluded.spec then s.next_slot else excluded.next_slot end,
        next_at = case when s.spec = excluded.spec then s.next_at else excluded.next_at end
      where (s.def, s.plan, s.overlap, s.input, s.of_def, s.spec)
        is distinct from (excluded.def, excluded.plan, excluded.overlap, excluded.input, excluded.of_def, excluded.spec);
  perform subscribe_v1(E'\x1f' || s_name, s_events);
  return next;
end $f$;

-- Nothing starts it any more: its triggers are gone, schedules that people have made are paused. Its limits stay: its runs go on. false: there is none in that workspace.
create function @schema@.archive_definition_v1(a_name text, a_workspace text) returns boolean
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  now_at constant timestamptz := clock_v1();
  h definitions;
begin
  insert into definition_changes (revision) values (0) on conflict do nothing;
  perform 1 from definition_changes c for update;
  select * into h from definitions d where d.name = a_name and d.workspace is not distinct from a_workspace;
  if h.name is null then
    return false;
  end if;
  if h.archived_at is null then
    update definition_changes c set revision = c.revision + 1;
    update definitions d set archived_at = now_at, updated_at = now_at, revision = (select c.revision from definition_changes c)
      where d.name = a_name;
    delete from schedules s where s.of_def = a_name;
    delete from subscriptions s where s.def = a_name;
    update schedules s set is_paused = true, next_slot = null, next_at = null, revision = s.revision + 1, updated_at = now_at
      where s.def = a_name and not s.is_paused;
  end if;
  return true;
end $f$;

-- One step per version that is in use, and not per run.
create function @schema@.used_definitions_v1() returns table (revision bigint, used text)
language plpgsql stable
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $f$
begin
  return query
    with recursive u (def, version) as (
      (select r.def, r.version from runs r where r.finished_at is null and left(r.version, 1) = '#' order by r.def, r.version limit 1)
      union all
      select n.def, n.version from u cross join lateral (
        select r.def, r.version from runs r
          where r.finished_at is null and left(r.version, 1) = '#' and (r.def, r.version) > (u.def, u.version)
          order by r.def, r.version limit 1) n)
    select coalesce((select c.revision from definition_changes c), 0), (select string_agg(u.def || u.version, ' ') from u);
end $f$;

-- As before (0006); a start that names no version of a stored definition gets the current one, if that is for its workspace.
create or replace function @schema@.start_v2(
  s_uid uuid, s_priority int, s_delay float8, s_timeout float8, s_workspace text, s_id text, s_def text, s_version text, s_tags text,
  s_meta text, s_input text, m_id text, m_name text, m_payload text, is_within boolean, s_limit_workspace text, s_limit_key text
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan
as $f$
begin
  return query select * from start_v1(
    s_uid, s_priority, s_delay, s_timeout, s_workspace, s_id, s_def,
    coalesce(s_version, (
      select '#' || d.version from definitions d
        where d.name = s_def and d.archived_at is null and (d.workspace is null or d.workspace = s_workspace))),
    s_tags, s_meta, s_input, m_id, m_name, m_payload, is_within);
  if s_limit_workspace is not null then
    -- Nobody has seen it yet: it is of this transaction.
    update runs r set slot = false, asks_at = r.due_at, due_at = null, limit_workspace = s_limit_workspace, limit_key = s_limit_key
      where r.uid = s_uid and r.slot is null and r.epoch = 0 and r.owner is null and r.due_at is not null;
  end if;
end $f$;

-- As before (0007), and without the definitions of other workspaces (D4).
create or replace function @schema@.start_subscribed_v1() returns trigger
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  s record;
  run text;
  ms text;
  chance text;
begin
  for s in
    select distinct on (c.def) c.def, c.timeout_ms from subscriptions c
      where c.event = new.name and c.match <@ new.keys
        and not exists (select 1 from definitions d where d.name = c.def and d.workspace <> new.workspace)
      order by c.def, c.no
  loop
    run := 'event:' || new.id || ':' || s.def;
    if run !~ '^[A-Za-z0-9_.:@+=-]{1,128}$' then
      run := 'event:' || md5(new.id || ' ' || s.def);
    end if;
    ms := lpad(to_hex(ms_v1(clock_v1())::bigint), 12, '0');
    chance := gen_random_uuid()::text;
    perform start_v2((left(ms, 8) || '-' || right(ms, 4) || '-7' || substr(chance, 16, 3) || '-' || substr(chance, 20))::uuid,
      5, 0, s.timeout_ms, new.workspace, run, s.def, null, json_build_object('event', new.name)::text, '{"bornWith":1}',
      new.payload, null, null, null, true,
      (select case when l.per_workspace is null then '' else new.workspace end from limits l where l.def = s.def),
      (select '' from limits l where l.def = s.def));
  end loop;
  return null;
end $f$;
