-- breaking: no
-- Lists of what is rare among many: by a status that is not the usual end, and by tags. Runs that neither wait nor fail and have no
-- tags are in none of these, so they cost nothing more.

create index runs_status on @schema@.runs (workspace, status, uid) where status in ('waiting', 'failed', 'cancelled', 'timed_out');

-- One text per tag. What PostgreSQL has no text for, as a NUL, can be stored as a tag and not be looked for.
create function @schema@.tags_v1(tags text) returns text[] language plpgsql immutable cost 1000 as $f$
begin
  return array(select t.key || E'\x1f' || t.value from json_each_text(tags::json) t (key, value));
exception when data_exception then
  return '{}';
end $f$;

create index runs_tags on @schema@.runs using gin (@schema@.tags_v1(tags)) with (fastupdate = off) where tags <> '{}';
