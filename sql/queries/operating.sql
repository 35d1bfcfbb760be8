-- What people and their own transactions do to runs. Those that run on a caller's client give text and boolean only: its
-- own parsers decide what the rest becomes.

-- name: startAlone
-- $1 uid, $2 priority, $3 delay and $4 timeout in ms, $5 workspace, $6 id, $7 definition, $8 version, $9 tags, $10 meta, $11 input,
-- $12–$14 id, name and payload of the first message, $15 in a caller's transaction, $16 and $17 where it is counted. Keeps A1.
select kind, uid, def, is_same from @schema@.start_v2(
  $1::uuid, $2::int, $3::float8, $4::float8, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text, $11::text,
  $12::text, $13::text, $14::text, $15::boolean, $16::text, $17::text);

-- name: lookWithin
-- $1 workspace, $2 id.
select r.def, r.status from @schema@.runs r where r.workspace = $1::text and r.id = $2::text;

-- name: mustBeWithin
-- Fails outside a transaction (25P01), whoever the client is. Two statements: without parameters, as any client sends it.
savepoint perdure; release savepoint perdure;

-- name: post
-- $1 workspace, $2 run, $3 message id, $4 name, $5 payload. Keeps A1.
insert into @schema@.letters (at, workspace, run, id, name, payload)
  values (@schema@.clock_v1(), $1::text, $2::text, $3::text, $4::text, $5::text);

-- name: letters
-- The oldest $1.
select no::float8 as no, workspace, run, id, name, payload from @schema@.letters order by letters.no limit $1::int;

-- name: burn
-- $1 numbers.
delete from @schema@.letters where no = any ($1::bigint[]);

-- name: pause
-- $1 workspace, $2 id, $3 paused or not.
select uid, refusal, status from @schema@.pause_v1($1::text, $2::text, $3::boolean);

-- name: fork
-- $1 of which run, $2 entries up to, $3 uid, $4 id, $5 meta of entry 1, $6 input (null: as it was), $7 numbers and $8 payloads of
-- entries that are replaced, $9 numbers of entries that forget their child.
select kind, uid, def, is_same from @schema@.fork_v1(
  $1::uuid, $2::int, $3::uuid, $4::text, $5::text, $6::text, $7::int[], $8::text, $9::int[]);

-- name: prune
-- $1 ms that finished runs are kept, $2 uids after, $3 rows to look at, $4 runs to delete at most.
select is_ours, pruned, next_uid from @schema@.prune_v1($1::float8, $2::uuid, $3::int, $4::int);
