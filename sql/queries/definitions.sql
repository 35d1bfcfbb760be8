-- Definitions that are stored. Times cross the wire in milliseconds.

-- name: saveDefinition
-- $1 name, $2 workspace or null, $3 JSON, $4 note, $5 the version that must be the current one, $6 limits, $7 schedules, $8 subscriptions,
-- $9 who saves it. Keeps D1, D2.
select kind, version from @schema@.save_definition_v2($1::text, $2::text, $3::text, $4::text, $5::int, $6::text, $7::text, $8::text, $9::text);

-- name: archiveDefinition
-- $1 name, $2 workspace or null.
select @schema@.archive_definition_v1($1::text, $2::text) as done;

-- name: definitions
-- $1 only this one, or null; $2 of which workspace and of all of them, or null; $3 behind which name, $4 how many.
select d.name, d.workspace, d.version, d.archived_at is not null as is_archived, @schema@.ms_v1(d.created_at) as created_at,
    @schema@.ms_v1(d.updated_at) as updated_at
  from @schema@.definitions d
  where ($1::text is null or d.name = $1::text) and ($2::text is null or d.workspace is null or d.workspace = $2::text) and d.name > $3::text
  order by d.name limit $4::int;

-- name: definitionTexts
-- $1 names (packed), $2 versions.
select v.name, v.version, v.note, v.author, v.json, @schema@.ms_v1(v.created_at) as created_at
  from unnest(@schema@.texts_v1($1::text), $2::int[]) w (name, version)
  join @schema@.definition_versions v on v.name = w.name and v.version = w.version;

-- name: definitionVersions
-- $1 name, $2 before which version, $3 how many. Newest first.
select v.version, v.note, v.author, @schema@.ms_v1(v.created_at) as created_at from @schema@.definition_versions v
  where v.name = $1::text and v.version < $2::int order by v.version desc limit $3::int;

-- name: usedDefinitions
-- The last revision, and the versions that unfinished runs are of, as 'name#version name#version'.
select u.revision::float8 as revision, u.used from @schema@.used_definitions_v1() u;

-- name: declare
-- $1 worker, $2 definitions: what it executes from now on. A row that is gone stays so.
update @schema@.workers set definitions = $2::text where id = $1::uuid;
