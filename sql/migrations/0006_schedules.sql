-- breaking: no
-- Schedules: runs that start at certain times.
--
-- H1. A slot is acted upon once: fire_v1 moves the row from its next slot to a later one in the transaction that inserts the
--     run, and whoever comes second finds another next slot. last_slot only moves forward, so that neither a crash nor the
--     deletion of old runs brings a slot back.

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
        from start_v1(r_uid, 5, 0, r_timeout, s.workspace, r_id, s.def, null, r_tags, r_meta, s.input, null, null, null, true) x;
    end if;
  end if;
  update schedules c
    set last_slot = greatest(c.last_slot, instant_v1(f_behind)), next_slot = instant_v1(f_next), next_at = instant_v1(f_next_at),
      last_run = case when answer = 'fired' then r_id else c.last_run end
    where c.workspace = s.workspace and c.id = s.id;
  return answer;
end $f$;
