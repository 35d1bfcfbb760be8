-- breaking: no
-- What starts runs by itself: schedules, and subscriptions to events.
--
-- H1. A slot is acted upon once: fire_v1 moves the row from its next slot to a later one in the transaction that inserts the
--     run, and whoever comes second finds another next slot. last_slot only moves forward, so that neither a crash nor the
--     deletion of old runs brings a slot back.
-- H2. A run that an event starts is inserted by the transaction that inserts the event, whoever emits it and by whichever way:
--     the event is not lost if nobody is there, and its second emission inserts neither.

-- `spec`, `plan`: JSON that only processes read; the same times are the same text. `of`: the definition whose trigger it is.
create table @schema@.schedules (
  workspace text collate "C" not null,
  id text collate "C" not null,
  next_at timestamptz,
  next_slot timestamptz,
  last_slot timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision int not null default 1,
  is_paused boolean not null default false,
  overlap text not null,
  last_run text collate "C",
  def text collate "C" not null,
  of_def text collate "C",
  spec text not null,
  plan text not null,
  input text not null,
  primary key (workspace, id),
  constraint schedules_overlap check (overlap in ('allow', 'skip', 'queue', 'cancel'))
);
create index schedules_due on @schema@.schedules (next_at) where not is_paused and next_at is not null;

-- `kind`: see the port. The run is due and belongs to whichever version of its code is there.
create function @schema@.fire_v1(
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
          (select '' from limits l where l.def = s.def)) x;
    end if;
  end if;
  update schedules c
    set last_slot = greatest(c.last_slot, instant_v1(f_behind)), next_slot = instant_v1(f_next), next_at = instant_v1(f_next_at),
      last_run = case when answer = 'fired' then r_id else c.last_run end
    where c.workspace = s.workspace and c.id = s.id;
  return answer;
end $f$;

-- `match`: keys that must be among those of the event.
create table @schema@.subscriptions (
  def text collate "C" not null,
  no int not null,
  event text collate "C" not null,
  timeout_ms float8,
  match text[] not null,
  primary key (def, no)
);
create index subscriptions_event on @schema@.subscriptions (event);

-- What each of these definitions subscribes to, in the place of what it did. Nothing is written if that is the same.
create function @schema@.subscribe_v1(defs text, rows_json text) returns void
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  wanted constant json := rows_json::json;
begin
  delete from subscriptions s where s.def = any (texts_v1(defs)) and not exists (
    select 1 from json_array_elements(wanted) w (one) where w.one ->> 0 = s.def and (w.one ->> 1)::int = s.no);
  insert into subscriptions as s (def, no, event, match, timeout_ms)
    select w.one ->> 0, (w.one ->> 1)::int, w.one ->> 2, array(select json_array_elements_text(w.one -> 3)), (w.one ->> 4)::float8
      from json_array_elements(wanted) w (one)
      order by 1, 2
    on conflict (def, no) do update set event = excluded.event, match = excluded.match, timeout_ms = excluded.timeout_ms
      where (s.event, s.match, s.timeout_ms) is distinct from (excluded.event, excluded.match, excluded.timeout_ms);
end $f$;

-- The uid is made here, and begins with the time as all of them do (retention). The id: 'event:<event>:<definition>', or a number made
-- of both where that is none that a run may have.
create function @schema@.start_subscribed_v1() returns trigger
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
      where c.event = new.name and c.match <@ new.keys order by c.def, c.no
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
create trigger events_start after insert on @schema@.events for each row execute function @schema@.start_subscribed_v1();
