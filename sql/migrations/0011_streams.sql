-- breaking: no
-- What steps publish while they run, and what has changed in all runs, for who follows them.

-- ── what steps publish ──
-- Numbered per run without a gap. `sent` counts within an epoch, so that what is sent again is known; `is_first`: the execution of its
-- step begins with it, and what that step has published before is void.
create table @schema@.chunks (
  uid uuid not null,
  no int not null,
  epoch int not null,
  sent int not null,
  attempt int not null,
  is_first boolean not null,
  at timestamptz not null,
  step text not null,
  value text not null,
  primary key (uid, no)
);

-- P1. Only the owner publishes; what it has stored already is left out.
-- P2. Visible numbers are a prefix: a number is given when the one before it is committed. Two at once (the owner, and one that was it)
--     break the key, and the call is made again (src/store/errors.ts).
create function @schema@.publish_v1(
  by_id uuid, c_uid uuid[], c_epoch int[], c_sent int[], c_attempt int[], c_first boolean[], c_step text, c_value text
) returns void
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
begin
  insert into chunks (uid, no, epoch, sent, attempt, is_first, at, step, value)
    select c.uid, coalesce(l.no, 0) + row_number() over (partition by c.uid order by c.i), c.epoch, c.sent, c.attempt, c.is_first, now_at, c.step, c.value
      from unnest(c_uid, c_epoch, c_sent, c_attempt, c_first, texts_v1(c_step), texts_v1(c_value))
        with ordinality c (uid, epoch, sent, attempt, is_first, step, value, i)
      cross join lateral (select 1 from runs r where r.uid = c.uid and r.owner is not distinct from by_id and r.epoch = c.epoch limit 1) r
      left join lateral (select k.no, k.epoch, k.sent from chunks k where k.uid = c.uid order by k.no desc limit 1) l on true
      where l.no is null or l.epoch < c.epoch or (l.epoch = c.epoch and l.sent < c.sent)
      order by c.uid, c.i;
end $f$;

-- ── what has changed ──
-- A row is what one statement has changed: entries from … to … of runs; 0 to 0: the run, without an entry. Written only while somebody
-- follows, and for a while after.
--
-- H1. `key` is at least the transaction's own id, so no row with a key below the oldest transaction under way is still to come: up to there
--     it may be read, in the order (key, id), and nothing is missed that commits late.
-- H2. `key` is at least the first id that was not over when it was written, so of two changes of one run, the later one (which has seen
--     the other committed) has no smaller key, and a greater id: the order of all is the order of each run.
create table @schema@.changes (
  key xid8 not null,
  id bigint generated always as identity,
  at timestamptz not null,
  uids uuid[] not null,
  froms int[] not null,
  tos int[] not null,
  primary key (key, id)
);

-- Until when changes are written, in ms. A sequence, because it has one value for all snapshots: a transaction that gets its id when it is set
-- sees it, whatever its isolation.
create sequence @schema@.followed minvalue 0 start 0;
-- One row: from this key on every change is there.
create table @schema@.follows (
  begun xid8 not null
);

-- An expression, and no query: it is asked in every commit.
create function @schema@.is_followed_v1() returns boolean language sql volatile as $f$
  select coalesce(pg_sequence_last_value('@schema@.followed'::regclass), 0) > extract(epoch from @schema@.clock_v1()) * 1000
$f$;

create function @schema@.changed_v1(c_uids uuid[], c_froms int[], c_tos int[]) returns void language sql volatile as $f$
  insert into @schema@.changes (key, at, uids, froms, tos)
    values (greatest(pg_current_xact_id(), pg_snapshot_xmax(pg_current_snapshot())), @schema@.clock_v1(), c_uids, c_froms, c_tos)
$f$;

-- What every statement that adds entries costs while nobody follows: one look.
create function @schema@.journal_changed_v1() returns trigger
language plpgsql
as $f$
declare
  uids uuid[];
  froms int[];
  tos int[];
begin
  if not @schema@.is_followed_v1() then
    return null;
  end if;
  select array_agg(a.uid), array_agg(a.low), array_agg(a.high) into uids, froms, tos
    from (select n.uid, min(n.seq) as low, max(n.seq) as high from added n group by n.uid) a;
  if uids is not null then
    perform @schema@.changed_v1(uids, froms, tos);
  end if;
  return null;
end $f$;
create trigger journal_changed after insert on @schema@.journal referencing new table as added for each statement
  execute function @schema@.journal_changed_v1();

-- Paused, or resumed: no entry says so.
create function @schema@.run_changed_v1() returns trigger
language plpgsql
as $f$
begin
  if @schema@.is_followed_v1() then
    perform @schema@.changed_v1(array[new.uid], array[0], array[0]);
  end if;
  return null;
end $f$;
create trigger run_changed after update of stop on @schema@.runs for each row
  when (old.stop is distinct from new.stop and 'pause' in (old.stop, new.stop))
  execute function @schema@.run_changed_v1();

-- Somebody follows, for keep_ms from now on. `begun`: from this key on all is there; `horizon`: below this key nothing more is to come. A list
-- that is read when the horizon is at `begun` lacks nothing that is not told. `margin_ms`: a clock may step back so far.
-- H3. Nothing is missing from the id of a transaction on that begins when `followed` is set: whoever did not see it has a smaller one. So the
--     first call after a pause only sets it (null), and the next one begins.
create function @schema@.follow_v1(keep_ms float8, margin_ms float8) returns table (begun text, horizon text)
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  now_ms float8;
  begun_key xid8;
  gone_key xid8;
begin
  perform pg_advisory_xact_lock(hashtextextended('perdure changes of @schema@', 0));
  now_ms := ms_v1(clock_v1());
  if (select f.last_value > now_ms + margin_ms from followed f) then
    select f.begun into begun_key from follows f;
    begun_key := coalesce(begun_key, pg_current_xact_id());
    with d as (
      delete from changes c where c.at < instant_v1(now_ms - keep_ms) returning c.key)
    select d.key into gone_key from d order by d.key desc limit 1;
    if gone_key is not null then
      begun_key := greatest(begun_key, (gone_key::text::bigint + 1)::text::xid8);
    end if;
    horizon := pg_snapshot_xmin(pg_current_snapshot())::text;
  end if;
  perform setval('followed', ceil(now_ms + keep_ms)::bigint);
  delete from follows;
  if begun_key is not null then
    insert into follows (begun) values (begun_key);
  end if;
  begun := begun_key::text;
  return next;
end $f$;

-- ── as before, with what was added here ──

-- (0006) Who follows is told that they are free.
create or replace function @schema@.free_v1(owners uuid[], crashed int) returns int
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
  freed uuid[];
begin
  with l as materialized (
    select r.uid from runs r where r.owner = any (owners) limit 1000 for no key update skip locked),
  u as (
    update runs r set owner = null, seq = greatest(r.seq, j.seq), crashes = r.crashes + crashed, updated_at = now_at,
        due_at = case when r.stop is distinct from 'pause' and (r.slot is distinct from false or r.stop = 'cancel') then now_at end,
        asks_at = case when r.slot is false and r.stop is null then now_at end,
        slot = case when r.slot and r.stop = 'pause' then false else r.slot end,
        status = case when greatest(r.seq, j.seq) = 1 and r.stop is distinct from 'pause' then 'pending' else 'waiting' end,
        reason = case when r.stop = 'pause' then 'paused' end
      from l cross join lateral (select j.seq from journal j where j.uid = l.uid order by j.seq desc limit 1) j
      where r.uid = l.uid
      returning r.uid)
  select coalesce(array_agg(u.uid), '{}') into freed from u;
  if cardinality(freed) > 0 and is_followed_v1() then
    perform changed_v1(freed, array_fill(0, array[cardinality(freed)]), array_fill(0, array[cardinality(freed)]));
  end if;
  return cardinality(freed);
end $f$;

-- (0006) And with what they have published.
create or replace function @schema@.prune_v1(keep_ms float8, after_uid uuid, look int, most int) returns table (is_ours boolean, pruned int, next_uid text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  horizon constant timestamptz := clock_v1() - keep_ms * interval '1 millisecond';
  first_bits constant text := lpad(to_hex(greatest(ms_v1(horizon), 0)::bigint), 12, '0');
  before_uid constant uuid := (left(first_bits, 8) || '-' || right(first_bits, 4) || '-0000-0000-000000000000')::uuid;
  seen uuid[];
  doomed uuid[];
begin
  pruned := 0;
  is_ours := pg_try_advisory_xact_lock(hashtextextended('perdure retention of @schema@', 0));
  if is_ours then
    seen := array(select r.uid from runs r where r.uid > after_uid and r.uid < before_uid order by r.uid limit look);
    doomed := array(select r.uid from runs r
      where r.uid = any (seen) and r.finished_at < horizon
        and not exists (select 1 from runs p where p.uid = r.parent_uid and (p.finished_at is null or p.finished_at >= horizon))
      order by r.uid limit most for update skip locked);
    delete from runs r where r.uid = any (doomed);
    delete from journal j where j.uid = any (doomed);
    delete from messages m where m.uid = any (doomed);
    delete from states s where s.uid = any (doomed);
    delete from documents d where d.uid = any (doomed);
    delete from chunks c where c.uid = any (doomed);
    delete from waits w where w.uid = any (doomed);
    delete from debounces d where d.uid = any (doomed);
    pruned := cardinality(doomed);
    next_uid := case when pruned = most then doomed[pruned] when cardinality(seen) = look then seen[look] end;
  end if;
  return next;
end $f$;
