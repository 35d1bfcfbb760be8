-- The kernel's calls. Each is one function of the migrations, so that its plan does not depend on statistics.
-- Instants cross as float8 milliseconds, arrays of uuids, numbers and our own words as '{…}', texts packed (texts_v1).

-- name: commit
-- Starts, messages and turn results. $1–$10 the committer and the way, $11–$28 turns, $29–$37 entries, $38–$39 taken,
-- $40–$54 starts, $55–$64 messages, $65 waits, $66 events, $67 documents, $68 answers, $69 turns that keep their slot,
-- $70–$71 where starts are counted. Keeps C1–C7 (0002_commit.sql), A1, A3 (0006_limits.sql).
select now_ms, feed_row, silent, answers, claimed, is_asking from @schema@.commit_v2(
  $1::uuid, $2::text, $3::text, $4::text, $5::boolean, $6::boolean, $7::bigint, $8::text, $9::int, $10::int,
  $11::uuid[], $12::uuid[], $13::int[], $14::int[], $15::int[], $16::int[], $17::int[], $18::int[],
  $19::boolean[], $20::float8[], $21::float8[], $22::text[], $23::text[], $24::text[], $25::int[], $26::boolean[], $27::text, $28::text,
  $29::int[], $30::int[], $31::int[], $32::int[], $33::float8[], $34::text[], $35::text, $36::text, $37::text,
  $38::int[], $39::int[],
  $40::int[], $41::uuid[], $42::boolean[], $43::int[], $44::float8[], $45::float8[], $46::uuid[],
  $47::text, $48::text, $49::text, $50::text, $51::text, $52::text, $53::text, $54::text,
  $55::int[], $56::uuid[], $57::boolean[], $58::text[], $59::text, $60::text, $61::text, $62::text, $63::text, $64::text,
  $65::text, $66::text, $67::text, $68::text, $69::boolean[], $70::text, $71::text);

-- name: commitBrought
-- As commit, behind the turns that bring their own messages: $72–$86 those turns, $87–$96 their entries, $97–$105 their messages,
-- $106 others may know the ids of these. Keeps B1–B5 (0015_brought.sql), F1, F2, F4, F5 (0018_folded.sql).
select c.now_ms, coalesce(c.feed_row, b.feed_row::text) as feed_row, c.silent, concat_ws(E'\x1e', b.answers, c.answers) as answers, c.claimed, c.is_asking
  from @schema@.bring_v2($1::uuid, $5::boolean, $6::boolean, $7::bigint, $9::int, $10::int, $106::boolean,
    $72::uuid[], $73::uuid[], $74::int[], $75::int[], $76::int[], $77::int[], $78::int[], $79::int[],
    $80::boolean[], $81::float8[], $82::float8[], $83::text[], $84::text[], $85::boolean[], $86::text,
    $87::int[], $88::int[], $89::int[], $90::int[], $91::float8[], $92::text[], $93::text, $94::text, $95::text, $96::text,
    $97::int[], $98::int[], $99::int[], $100::int[], $101::text[], $102::text, $103::text, $104::text, $105::text) b
  cross join lateral @schema@.commit_v2(
    $1::uuid, $2::text, $3::text, $4::text, $5::boolean, $6::boolean, b.feed_row, $8::text, $9::int, $10::int,
    $11::uuid[], $12::uuid[], $13::int[], $14::int[], $15::int[], $16::int[], $17::int[], $18::int[],
    $19::boolean[], $20::float8[], $21::float8[], $22::text[], $23::text[], $24::text[], $25::int[], $26::boolean[], $27::text, $28::text,
    $29::int[], $30::int[], $31::int[], $32::int[], $33::float8[], $34::text[], $35::text, $36::text, $37::text,
    $38::int[], $39::int[],
    $40::int[], $41::uuid[], $42::boolean[], $43::int[], $44::float8[], $45::float8[], $46::uuid[],
    $47::text, $48::text, $49::text, $50::text, $51::text, $52::text, $53::text, $54::text,
    $55::int[], $56::uuid[], $57::boolean[], $58::text[], $59::text, $60::text, $61::text, $62::text, $63::text, $64::text,
    $65::text, $66::text, $67::text, $68::text, $69::boolean[], $70::text, $71::text) c;

-- name: commitReacted
-- Nothing but turns that are what messages have done without the body: $1–$6 the committer and the way, $7–$18 turns, $19–$25 their entries.
-- Keeps R1–R3 (0019_reactions.sql).
select now_ms, feed_row::text as feed_row, stored as silent, answers from @schema@.react_v1(
  $1::uuid, $2::boolean, $3::boolean, $4::bigint, $5::int, $6::int,
  $7::uuid[], $8::uuid[], $9::int[], $10::int[], $11::int[], $12::int[], $13::float8[], $14::text[],
  $15::int, $16::text, $17::text, $18::int[],
  $19::int[], $20::int[], $21::float8, $22::float8[], $23::text, $24::text, $25::text);

-- name: claim
-- $1 worker, $2 build, $3 names and $4 versions of its definitions, $5 places, $6 suspects. Keeps O1.
select now_ms, claimed, next_due_ms from @schema@.claim_v1($1::uuid, $2::text, $3::text, $4::text, $5::int, $6::int);

-- name: load
-- $1 uids, $2 owners, $3 epochs, $4 entries after, $5 messages after.
select place, entries, mail, taken from @schema@.load_v1($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::int[]);

-- name: join
-- $1 worker, $2 build, $3 definitions, $4 lease in ms, $5 names of its definitions, $6 their limits.
select @schema@.join_v2($1::uuid, $2::text, $3::text, $4::float8, $5::text, $6::text) as now_ms;

-- name: beat
-- $1 worker, $2 lease in ms.
select alive, now_ms, owned from @schema@.beat_v1($1::uuid, $2::float8);

-- name: leave
-- $1 worker. 0: it has left; else call again.
select @schema@.leave_v1($1::uuid) as "left";

-- name: forget
-- $1 worker: its row, whatever it still owns. The next reap frees that.
delete from @schema@.workers where id = $1::uuid;

-- name: forgetAll
-- Every row: only for who has the database alone, before it joins. The next reap frees what they owned.
delete from @schema@.workers;

-- name: reap
-- $1 ids and $2 beats of workers seen unmoved, $3 who asks, $4 names also its own feed rows behind this id, $5 ms that heard feed rows are kept. Keeps O2, O3.
select workers, dead, freed, inherited from @schema@.reap_v1($1::uuid[], $2::int[], $3::uuid, $4::bigint, $5::float8);

-- name: reopen
-- $1 uids (deepest first), $2 attempts, $3 due, $4–$10 their entries. All or none.
select case when @schema@.reopen_v1($1::uuid[], $2::int[], $3::boolean[], $4::float8[], $5::text[], $6::int[], $7::int[], $8::text, $9::text, $10::text)
    then @schema@.retell_v1($1::uuid[]) else false end as done;

-- name: resolve
-- $1 uid, $2 owner, $3 epoch, $4 last seq. Waits for the lost transaction by the lock of its row.
select @schema@.resolve_v1($1::uuid, $2::uuid, $3::int, $4::int) as fate;

-- name: transaction
-- The transaction that a step has opened. Assigned now, so that one opened by the user's own commit differs.
select pg_current_xact_id()::text as xact;

-- name: server
-- Whether this is a standby, and which migrations it has had. $1 schema.
select pg_is_in_recovery() as standby, current_setting('server_version_num')::int as version,
  to_regclass(quote_ident($1::text) || '.migrations') is not null as migrated;

-- name: migrated
-- The highest migration of the database.
select coalesce(max(number), 0)::int as number from @schema@.migrations;
