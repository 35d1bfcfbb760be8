-- breaking: no
-- For those who look at runs: which have ended when, and which wait for a person. Both change only where a run is parked, taken or ended:
-- a turn that goes on writes no index (0001).

create index runs_finished on @schema@.runs (workspace, finished_at) where finished_at is not null;
create index runs_inbox on @schema@.runs (workspace, uid) where status = 'waiting' and reason = 'signal' and stop is null;

-- Who has saved it.
alter table @schema@.definition_versions add column author text;

-- Saves (0008), and says by whom.
create function @schema@.save_definition_v2(
  s_name text, s_workspace text, s_json text, s_note text, expected int, s_limits text, s_schedules text, s_events text, s_author text
) returns table (kind text, version int)
language plpgsql
set search_path = @schema@, pg_temp
as $f$
begin
  select v.kind, v.version into kind, version
    from save_definition_v1(s_name, s_workspace, s_json, s_note, expected, s_limits, s_schedules, s_events) v;
  if kind = 'saved' then
    update definition_versions d set author = s_author where d.name = s_name and d.version = save_definition_v2.version;
  end if;
  return next;
end $f$;
