-- breaking: no
-- Runs that schedules and events start are counted by their key, too, where that is a path into their input.

-- As countedAt of src/model/admission.ts. What is no plain JSON, or cannot be a text, has no key.
create function @schema@.limit_key_v1(key_path text, input text) returns text
language plpgsql immutable
as $f$
declare
  key text;
begin
  if key_path is null then
    return '';
  end if;
  key := regexp_replace(coalesce(input::json #>> string_to_array(key_path, '.'), ''), '[\x01-\x1f]', ' ', 'g');
  return case when length(key) <= 200 then key else left(key, 200) || '…' || length(key) end;
exception when data_exception then
  return '';
end $f$;

-- As before (0007), and with a key.
create or replace function @schema@.fire_v1(
  f_workspace text, f_id text, f_revision int, f_expected float8, f_behind float8, f_next float8, f_next_at float8,
  r_uid uuid, r_id text, r_tags text, r_timeout float8, r_meta text
) returns text
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan
as $f$
declare
  s schedules;
  answer text := 'moved';
begin
  -- Who holds it is moving it.
  select * into s from schedules c
    where c.workspace = f_workspace and c.id = f_id and c.revision = f_revision and c.next_slot = instant_v1(f_expected)
      and not c.is_paused
    for update skip locked;
  if s.id is null then
    return 'lost';
  end if;
  if r_uid is not null then
    if s.last_slot >= instant_v1(f_behind) then
      answer := 'known';
    elsif s.overlap = 'skip' and exists (
      select 1 from runs r where r.workspace = s.workspace and r.id = s.last_run and r.finished_at is null) then
      answer := 'skipped';
    else
      select case when x.kind = 'done' then 'fired' else 'known' end into answer
        from start_v2(r_uid, 5, 0, r_timeout, s.workspace, r_id, s.def, null, r_tags, r_meta, s.input, null, null, null, true,
          (select case when l.per_workspace is null then '' else s.workspace end from limits l where l.def = s.def),
          (select limit_key_v1(l.key_path, s.input) from limits l where l.def = s.def)) x;
    end if;
  end if;
  update schedules c
    set last_slot = greatest(c.last_slot, instant_v1(f_behind)), next_slot = instant_v1(f_next), next_at = instant_v1(f_next_at),
      last_run = case when answer = 'fired' then r_id else c.last_run end
    where c.workspace = s.workspace and c.id = s.id;
  return answer;
end $f$;

-- As before (0008), and with a key.
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
      (select limit_key_v1(l.key_path, new.payload) from limits l where l.def = s.def));
  end loop;
  return null;
end $f$;
