-- breaking: no
-- Events of a workspace, and runs that wait for one, or for the end of another run.
--
-- V1. Write first, then look, on both sides: an event is a row before waits are looked for, a wait is a row before events are
--     looked for. Whoever looks second sees the other, and the id of the message (that of the wait) makes it once.
-- V2. A wait hears what happens from the moment it was asked for (`since`).

-- `at` is null inside a caller's transaction: such an event happens when it is first seen. `keys`: one text for each field of
-- the payload and its value; a wait's `match` must be among them.
create table @schema@.events (
  no bigserial primary key,
  at timestamptz,
  is_told boolean not null default false,
  workspace text collate "C" not null,
  id text collate "C" not null,
  name text collate "C" not null,
  keys text[] not null,
  payload text,
  constraint events_id unique (workspace, id)
);
create index events_untold on @schema@.events (no) where not is_told;
create index events_recent on @schema@.events (workspace, name, at);
create index events_old on @schema@.events (at) where is_told;

-- All that a run waits for beside its mailbox: replaced as a whole by the commit that changes it. Either `event` or `run`.
create table @schema@.waits (
  uid uuid not null,
  occurrence int not null,
  is_looked boolean not null default false,
  since timestamptz not null,
  name text collate "C" not null,
  workspace text collate "C" not null,
  event text collate "C",
  match text[] not null,
  run text,
  primary key (uid, name, occurrence)
);
create index waits_event on @schema@.waits (workspace, event, (coalesce(match[1], ''))) where event is not null;
create index waits_new on @schema@.waits (uid) where not is_looked and event is not null;
create index waits_run on @schema@.waits (uid) where run is not null;

-- What the turns of a commit say, as JSON: [turn, [name, occurrence, since, event, match, run] …] and
-- [turn, id, name, keys, payload]. `applied`: per turn, whether it was applied.
create function @schema@.listen_v1(t_uid uuid[], applied int[], t_waits text, t_events text, now_at timestamptz) returns void
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $f$
begin
  if t_waits is not null then
    delete from waits w using json_array_elements(t_waits::json) t (turn)
      where w.uid = t_uid[(t.turn ->> 0)::int] and applied[(t.turn ->> 0)::int] > 0;
    insert into waits (uid, occurrence, since, name, workspace, event, match, run)
      select r.uid, (w.one ->> 1)::int, instant_v1((w.one ->> 2)::float8), w.one ->> 0, r.workspace, w.one ->> 3,
          array(select json_array_elements_text(w.one -> 4)), w.one ->> 5
        from json_array_elements(t_waits::json) t (turn)
        cross join lateral json_array_elements(t.turn -> 1) w (one)
        join runs r on r.uid = t_uid[(t.turn ->> 0)::int]
        where applied[(t.turn ->> 0)::int] > 0;
  end if;
  if t_events is not null then
    insert into events (at, workspace, id, name, keys, payload)
      select now_at, r.workspace, e.one ->> 1, e.one ->> 2, array(select json_array_elements_text(e.one -> 3)), e.one ->> 4
        from json_array_elements(t_events::json) e (one)
        join runs r on r.uid = t_uid[(e.one ->> 0)::int]
        where applied[(e.one ->> 0)::int] > 0
        on conflict (workspace, id) do nothing;
  end if;
end $f$;

-- One event past the group commit. `is_within`: in a caller's transaction.
create function @schema@.emit_v1(e_workspace text, e_id text, e_name text, e_keys text, e_payload text, is_within boolean) returns void
language sql
set search_path = @schema@, pg_temp
as $f$
  insert into events (at, workspace, id, name, keys, payload)
    values (case when is_within then null else clock_v1() end, e_workspace, e_id, e_name,
      array(select json_array_elements_text(e_keys::json)), e_payload)
    on conflict (workspace, id) do nothing
$f$;

-- Which waits hear which events now, at most so many. An event that finds none is told; a wait that finds none has looked.
-- What is given back is so until heard_v1 says that the messages are there.
create function @schema@.fan_out_v1(most int, keep_ms float8)
  returns table (uid text, workspace text, run text, name text, occurrence int, message text, payload text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
  e events;
  n int;
  total int := 0;
begin
  update events set at = now_at where not is_told and at is null;
  for e in select * from events where not is_told order by no limit 100 loop
    return query
      select w.uid::text, r.workspace, r.id, w.name, w.occurrence, e.name, e.payload
        from waits w cross join lateral (select r.workspace, r.id from runs r where r.uid = w.uid limit 1) r
        where w.workspace = e.workspace and w.event = e.name and coalesce(w.match[1], '') = any (e.keys || ''::text)
          and w.match <@ e.keys and w.since <= e.at
        limit most - total;
    get diagnostics n = row_count;
    if n = 0 then
      update events set is_told = true where no = e.no;
    end if;
    total := total + n;
    exit when total >= most;
  end loop;
  if total >= most then
    return;
  end if;
  return query
    select w.uid::text, r.workspace, r.id, w.name, w.occurrence, x.name, x.payload
      from (select w.* from waits w where not w.is_looked and w.event is not null limit most - total) w
      cross join lateral (select r.workspace, r.id from runs r where r.uid = w.uid limit 1) r
      cross join lateral (
        select x.name, x.payload from events x
          where x.workspace = w.workspace and x.name = w.event and x.at >= w.since and w.match <@ x.keys order by x.no limit 1) x;
  update waits w set is_looked = true
    where not w.is_looked and w.event is not null
      and not exists (
        select 1 from events x where x.workspace = w.workspace and x.name = w.event and x.at >= w.since and w.match <@ x.keys);
  delete from events x where x.no in (
    select y.no from events y where y.is_told and y.at < now_at - keep_ms * interval '1 millisecond' limit 1000);
end $f$;
