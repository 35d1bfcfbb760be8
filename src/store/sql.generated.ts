// Written by scripts/inline-sql.mjs from sql/. Change the .sql files and run `npm run sql`.

export interface Migration {
  readonly number: number
  readonly name: string
  readonly breaking: boolean
  readonly sql: string
}

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: 'tables', breaking: false, sql: `-- breaking: no
-- The tables. Which columns belong to whom: owner, epoch, seq, taken, crashes, status, reason and the instants are
-- written under the fence (owner, epoch, seq); inbox, stop and due_at also by senders, under the row's lock.

-- Texts that an index has are compared byte by byte (collate "C"): several times faster than by the rules of a language, and
-- an upgrade of the system's language rules cannot spoil the index.
--
-- Fixed-width and changing columns first, wide ones last: what follows a changed column is written to the WAL again.
-- A turn that only goes on changes seq, updated_at, taken and crashes (0 to 0): no index and no predicate sees a change, so
-- with fillfactor 50 it stays on its page (HOT).
create table @schema@.runs (
  uid uuid primary key,
  owner uuid,
  due_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  deadline_at timestamptz,
  epoch int not null,
  seq int not null,
  inbox int not null default 0,
  taken int not null default 0,
  crashes int not null default 0,
  undo_open int not null default 0,
  attempt int not null default 1,
  priority smallint not null,
  status text not null,
  reason text,
  stop text,
  workspace text collate "C" not null,
  id text collate "C" not null,
  def text collate "C" not null,
  version text collate "C",
  parent_uid uuid,
  parent_id text,
  tags text not null,
  diverged_builds text[],
  constraint runs_owned_is_not_due check (owner is null or due_at is null),
  constraint runs_owned_is_running check ((owner is not null) = (status = 'running')),
  constraint runs_final_is_at_rest check (finished_at is null or (owner is null and due_at is null)),
  constraint runs_final_is_finished check ((finished_at is not null) = (status in ('completed', 'failed', 'cancelled', 'timed_out'))),
  constraint runs_status check (status in ('pending', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'timed_out')),
  constraint runs_stop check (stop in ('cancel', 'pause')),
  constraint runs_priority check (priority between 0 and 9),
  constraint runs_taken check (taken between 0 and inbox),
  constraint runs_id unique (workspace, id)
) with (fillfactor = 50);

-- What a claim may take. Runs of other code, paused, suspected and diverged ones are not in it at all.
create index runs_due on @schema@.runs (def, coalesce(version, ''), priority, due_at)
  where owner is null and due_at is not null and stop is null and diverged_builds is null and crashes < 2;
-- Suspects (CRASHES_SUSPECT = 2), so that a thousand of them never hide one that is not.
create index runs_suspect on @schema@.runs (def, coalesce(version, ''), priority, due_at)
  where owner is null and due_at is not null and stop is null and diverged_builds is null and crashes >= 2;
-- Found diverged by some build; the last one leads, so that a build does not walk over what it found itself.
create index runs_diverged on @schema@.runs (def, coalesce(version, ''), (diverged_builds[1]), due_at)
  where owner is null and due_at is not null and stop is null and diverged_builds is not null;
-- What needs no code: to be cancelled, over the crash limit (CRASHES_MAX = 5), past the deadline.
create index runs_cancel on @schema@.runs (due_at)
  where owner is null and due_at is not null and stop = 'cancel' and undo_open = 0;
-- To be cancelled, with something to undo: that needs the code.
create index runs_undo on @schema@.runs (def, coalesce(version, ''), due_at)
  where owner is null and due_at is not null and stop = 'cancel' and undo_open > 0;
create index runs_crashed on @schema@.runs (due_at)
  where owner is null and due_at is not null and stop is null and crashes >= 5;
create index runs_deadline on @schema@.runs (deadline_at)
  where owner is null and finished_at is null and stop is null and deadline_at is not null and undo_open = 0;

create index runs_owner on @schema@.runs (owner) where owner is not null;
-- Lists. Only columns that are set once: they cost nothing after the insert but the upkeep of moved rows.
create index runs_definition on @schema@.runs (workspace, def, uid);
create index runs_workspace on @schema@.runs (workspace, uid);
create index runs_parent on @schema@.runs (parent_uid) where parent_uid is not null;

-- Append only. Entry 1 is the input, the last entry of a final run its output or error.
create table @schema@.journal (
  uid uuid not null,
  seq int not null,
  epoch int not null,
  at timestamptz not null,
  occurrence int not null,
  attempt int not null,
  kind text not null,
  name text not null,
  meta text,
  payload text,
  primary key (uid, seq)
);
-- What says which entries no replay needs any more (load_v1). Few: a run without rounds has none.
create index journal_behind on @schema@.journal (uid, seq) where kind in ('round.ended', 'run.reopened');

-- Numbered per run under the row lock, so visible numbers are always a prefix. Kept until the run is pruned:
-- a taken message (taken_seq set, payload moved to the journal; 0: a refused trigger) still refuses its id a second time.
-- Who waits for more than its being taken waits for reply_seq: 0 while it is to come, then the entry that answers it.
create table @schema@.messages (
  uid uuid not null,
  no int not null,
  taken_seq int,
  reply_seq int,
  at timestamptz not null,
  id text collate "C" not null,
  kind text not null,
  name text not null,
  meta text,
  payload text,
  primary key (uid, no),
  constraint messages_id unique (uid, id)
);
create index messages_untaken on @schema@.messages (uid, no) where taken_seq is null;

-- What a run shows of itself while it goes on (get().state; of a machine also where it is, and the error of its last attempt
-- to leave). Apart from its row, which every step writes anew.
create table @schema@.states (
  uid uuid primary key,
  place text,
  error text,
  state text
);

-- What a run shows to people. Written with the entry \`seq\`; visible until the entry \`until_seq\`, which has put another in its
-- place: that stands where the first one stood (position).
create table @schema@.documents (
  uid uuid not null,
  seq int not null,
  no int not null,
  until_seq int,
  position_seq int not null,
  position_no int not null,
  hidden boolean not null,
  id text not null,
  type text collate "C" not null,
  key text collate "C",
  tags text[] not null,
  content text not null,
  primary key (uid, seq, no)
);
create unique index documents_key on @schema@.documents (uid, type, key) where key is not null and until_seq is null;

-- One row per incarnation of an engine process.
create table @schema@.workers (
  id uuid primary key,
  lease_until timestamptz not null,
  started_at timestamptz not null,
  beat int not null,
  build text not null,
  definitions text not null
) with (fillfactor = 50);

-- What each commit appended ('uid:from:to,…'), until it has reached the listeners.
create table @schema@.feed (
  id bigserial primary key,
  worker uuid not null,
  pending boolean not null,
  at timestamptz not null,
  ranges text not null
);
create index feed_pending on @schema@.feed (worker, id) where pending;
create index feed_heard on @schema@.feed (at) where not pending;

-- Database time in whole milliseconds. Tests move it by the setting. Read it into a variable: as a call in a
-- condition it cannot be compared with an index.
create function @schema@.clock_v1() returns timestamptz language sql volatile as $f$
  select date_trunc('milliseconds', clock_timestamp())
    + coalesce(nullif(current_setting('perdure.clock_offset_ms', true), ''), '0')::float8 * interval '1 millisecond'
$f$;

-- Milliseconds since 1970, both ways and exactly: whole days apart, because 2^53 microseconds end in the year 2255.
create function @schema@.instant_v1(ms float8) returns timestamptz language sql stable as $f$
  select timestamptz 'epoch' + floor(ms / 86400000) * interval '24:00:00'
    + (ms - floor(ms / 86400000) * 86400000) * interval '1 millisecond'
$f$;
create function @schema@.ms_v1(at timestamptz) returns float8 language sql stable as $f$
  select (extract(epoch from at) * 1000)::float8
$f$;

-- Texts cross the wire as one text: each after U+001F (so that one empty text is not no text), null as U+001E.
create function @schema@.texts_v1(packed text) returns text[] language sql immutable as $f$
  select (string_to_array(packed, E'\\x1f', E'\\x1e'))[2:]
$f$;

-- A run as the claimer gets it.
create function @schema@.claimed_v1(r @schema@.runs, seq int) returns text language sql stable as $f$
  select concat_ws(E'\\x1f', r.uid, r.epoch, seq, r.inbox, coalesce(r.stop, ''), r.crashes, r.attempt, r.id, r.workspace, r.def,
    coalesce(r.version, ''), r.tags, coalesce(r.parent_uid::text, ''), coalesce(r.parent_id, ''),
    @schema@.ms_v1(r.created_at), @schema@.ms_v1(r.started_at), coalesce(@schema@.ms_v1(r.deadline_at)::text, ''))
$f$;

-- A run as people see it: its row, entry 1 (the input) and, of a final run, the last entry. The row of an owned run may lag
-- behind its journal (0002, C7).
create view @schema@.shown_v1 as
  select r.uid as run, r.uid::text as uid, r.id, r.workspace, r.def, r.version, r.status, r.reason, r.stop, @schema@.ms_v1(r.due_at) as due_at,
      r.owner::text as owner, coalesce(o.seq, r.seq) as seq, r.attempt, r.crashes, r.undo_open, r.tags, r.parent_uid::text as parent_uid, r.parent_id,
      @schema@.ms_v1(r.created_at) as created_at, @schema@.ms_v1(greatest(o.at, r.updated_at)) as updated_at, @schema@.ms_v1(r.started_at) as started_at,
      @schema@.ms_v1(r.finished_at) as finished_at, @schema@.ms_v1(r.deadline_at) as deadline_at, f.payload as input,
      l.kind as end_kind, l.name as end_name, l.occurrence as end_occurrence, l.attempt as end_attempt, @schema@.ms_v1(l.at) as end_at,
      l.meta as end_meta, l.payload as end_payload, s.state, s.place, s.error
    from @schema@.runs r
    cross join lateral (select j.payload from @schema@.journal j where j.uid = r.uid and j.seq = 1 limit 1) f
    left join lateral (
      select j.* from @schema@.journal j where j.uid = r.uid and j.seq = r.seq and r.finished_at is not null limit 1) l on true
    left join lateral (
      select j.seq, j.at from @schema@.journal j where j.uid = r.uid and r.owner is not null order by j.seq desc limit 1) o on true
    left join lateral (select s.state, s.place, s.error from @schema@.states s where s.uid = r.uid limit 1) s on true;` },
  { number: 2, name: 'commit', breaking: false, sql: `-- breaking: no
-- The commit call: starts, messages and turn results in one transaction, several statements in a fixed order.
--
-- C1. Nobody waits for a lock while holding the row of a run it does not own: own rows and new rows first (these may
--     wait, at most lock_timeout), then the rows of others with skip locked. So there is no cycle.
-- C2. Each statement has a snapshot of its own (the function is volatile): a start and a message to it, a child's end
--     and its parent's park in one batch all count.
-- C3. The fence (owner, epoch, seq) is in the where of every update of an owned run; what it does not let through
--     is answered, never raised. \`owner\` is compared by \`is not distinct from\` and nothing with constants: else the
--     planner, after an analyse at a quiet moment, reads all runs of the worker through runs_owner.
-- C4. Messages are numbered under the lock of the run's row, known ids change nothing.
-- C5. Sending it again writes nothing twice: turns by their seq, starts by their id, messages by their id.
--
-- Parameters: by_… the committer; t_ turns, e_ their entries, k_ messages they have taken (below 0: refused); s_ starts (s_turn 0: a
-- caller's, else a child of that turn); m_ messages (m_turn 0: a caller's, else of that turn). Indexes are 1-based. Packed texts: texts_v1.
-- t_mail: 1 if the turn has messages. feed_into: the row that an earlier part of the same commit has written.
-- t_waits, t_events: listen_v1; t_documents, t_answers: leave_behind_v1; null if no turn has any.
-- t_state: what people see of the run: place, error and state, parted by U+001C. Without a place, only the state is new.
-- in_xact: the transaction this must be part of (a step's own), else null.
--
-- Answers, one record each (U+001E), fields by U+001F: source (t, s, m), index, kind, …. None for a start that this call
-- has stored and for a turn that was applied to a run without messages and stop: \`silent\` counts the latter.
--
-- C6. Planning costs more than executing a small batch, so a statement is planned once per session where only one index
--     fits it (runs by uid, the journal): its plan cannot depend on statistics (plans.test.ts). Those that could take a
--     wrong index of several (runs by id, messages by id) are planned each time.
--
-- C7. A plain turn (\`t_plain\`: entries, and nothing else changes) does not touch the row of its run: half the work. Its fence is
--     only read, and holds because nobody frees a run of this worker without its row in \`workers\`, which is locked here
--     until the end. So the seq of an owned run may lag behind its journal, and who frees it sets it right (free_v1).
--     Therefore the fence looks at the last entry; and at the seq of the row too, which an update that waited for another
--     reads anew. What a plain turn finds in its way goes through the update like the others. A copy that meets its original
--     before that is committed breaks the journal's key: the call is made again (src/store/errors.ts).
create function @schema@.commit_v1(
  by_id uuid, by_build text, by_names text, by_versions text, resent boolean, feed_asked boolean, feed_into bigint,
  in_xact text, mailbox_max int, suspect_from int,
  t_uid uuid[], t_owner uuid[], t_epoch int[], t_seq int[], t_count int[], t_taken int[], t_seen int[], t_mail int[],
  t_outcome boolean[], t_before float8[], t_due float8[], t_next text[], t_word text[], t_stop text[], t_undo int[], t_plain boolean[], t_build text, t_state text,
  e_turn int[], e_no int[], e_occurrence int[], e_attempt int[], e_at float8[], e_kind text[], e_name text, e_meta text, e_payload text,
  k_turn int[], k_no int[],
  s_turn int[], s_uid uuid[], s_claim boolean[], s_priority int[], s_delay float8[], s_timeout float8[], s_parent uuid[],
  s_parent_id text, s_workspace text, s_id text, s_def text, s_version text, s_tags text, s_meta text, s_input text,
  m_turn int[], m_to uuid[], m_claim boolean[], m_kind text[], m_workspace text, m_run text, m_id text, m_name text, m_meta text, m_payload text,
  t_waits text, t_events text, t_documents text, t_answers text
) returns table (now_ms float8, feed_row text, silent int, answers text, claimed text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set lock_timeout = '100ms'
as $f$
declare
  turn_count constant int := cardinality(t_uid);
  start_count constant int := cardinality(s_uid);
  mail_count constant int := cardinality(m_turn);
  now_at timestamptz := clock_v1();
  names constant text[] := texts_v1(by_names);
  versions constant text[] := texts_v1(by_versions);
  builds constant text[] := texts_v1(t_build);
  applied int[] := array_fill(0, array[turn_count]);  -- per turn: the phase that applied it, else 0
  applied_count int := 0;
  just int[];           -- the turns applied in this phase
  touched int[];        -- those of them that changed the row of their run
  is_whole boolean;     -- all turns were applied in this phase: no need to look each entry's turn up
  turn_answers text;
  spans text;           -- what was appended, for the feed
  part text;
  part_spans text;
  starts_picked int;
  stored uuid[];        -- the starts that this call has inserted in this phase
  wanted uuid[];
  locked uuid[] := '{}';
  skipped uuid[] := '{}';
  fates text[];         -- per message: new, known, busy, none, RUN_NOT_FOUND, RUN_FINISHED, MAILBOX_FULL
  numbers int[];
  known_numbers int[];
  at_turn int;
  part_silent int;
  plan_mode text;
begin
  silent := 0;
  if in_xact is not null and in_xact is distinct from pg_current_xact_id_if_assigned()::text then
    raise exception 'the transaction was ended by other means' using errcode = 'PD001';
  end if;

  for phase in 1..2 loop
    if phase = 2 then
      exit when mail_count = 0;
      -- The rows of others, and of the turns that have messages. From here on nothing waits (C1).
      plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
      if 0 = any (m_turn) then
        select array_agg(coalesce(m.target, r.uid) order by m.i) into m_to
          from unnest(m_to, texts_v1(m_workspace), texts_v1(m_run)) with ordinality m (target, workspace, id, i)
          left join lateral (select r.uid from runs r where r.workspace = m.workspace and r.id = m.id limit 1) r on m.target is null;
      end if;
      plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
      wanted := array(select u from unnest(m_to) u where u is not null
        union select t.uid from unnest(t_uid, t_mail) t (uid, mail) where t.mail = 1);
      locked := array(select r.uid from runs r where r.uid = any (wanted) for no key update skip locked);
      if cardinality(locked) < cardinality(wanted) then
        skipped := array(select r.uid from runs r where r.uid = any (wanted) and r.uid <> all (locked));
      end if;
      if cardinality(skipped) > 0 then
        for at_turn in select t.i from unnest(t_uid, t_mail) with ordinality t (uid, mail, i)
            where t.mail = 1 and (t.uid = any (skipped)
              or exists (select 1 from unnest(m_turn, m_to) m (turn, target) where m.turn = t.i and m.target = any (skipped))) loop
          t_mail[at_turn] := 2;
          answers := nullif(concat_ws(E'\\x1e', answers, concat_ws(E'\\x1f', 't', at_turn, 'busy')), '');
        end loop;
      end if;
      -- The clock again: a message is accepted after its run's row was locked, so times follow numbers.
      now_at := clock_v1();
    end if;

    -- Turns. Park compares the counter on the row itself, so a message that came first is seen, whatever the snapshot.
    just := '{}';
    if phase = 1 and true = any (t_plain) then
      perform 1 from workers w where w.id = by_id for key share;
      if found then
        select coalesce(array_agg(d.i), '{}'),
            string_agg(concat_ws(E'\\x1f', 't', d.i, 'done', r.inbox, coalesce(r.stop, ''), 0), E'\\x1e') filter (where r.inbox > 0 or r.stop is not null),
            count(*) filter (where r.inbox = 0 and r.stop is null),
            string_agg(concat(d.uid, ':', d.seq + 1, ':', d.seq + d.count), ',') filter (where feed_asked)
          into just, turn_answers, silent, spans
          from unnest(t_uid, t_epoch, t_seq, t_count, t_outcome, t_plain) with ordinality d (uid, epoch, seq, count, outcome, plain, i)
          cross join lateral (
            select r.inbox, r.stop from runs r
              where r.uid = d.uid and r.owner is not distinct from by_id and r.epoch = d.epoch and r.seq <= d.seq
                and d.seq = (select j.seq from journal j where j.uid = d.uid order by j.seq desc limit 1)
                and (r.crashes = 0 or not d.outcome) limit 1) r
          where d.plain;
        foreach at_turn in array just loop applied[at_turn] := phase; end loop;
      end if;
    end if;
    if (phase = 1 and cardinality(just) < turn_count) or (phase = 2 and 1 = any (t_mail)) then
      with u as (
        update runs r set
            seq = d.seq + d.count,
            updated_at = now_at,
            taken = r.taken + coalesce(d.taken, 0),
            crashes = case when d.outcome then 0 else r.crashes end,
            owner = case when d.next = 'go' then r.owner end,
            due_at = case
              when d.next = 'go' or d.next = 'end' or r.stop = 'pause' then null
              when d.next = 'release' or (r.stop = 'cancel' and d.stop_seen is distinct from 'cancel') or r.inbox > d.seen or d.build is not null then now_at
              else instant_v1(d.due) end,
            status = case
              when d.next = 'go' then r.status
              when d.next = 'end' then d.word
              when d.next = 'release' and d.seq + d.count = 1 and r.stop is distinct from 'pause' then 'pending'
              else 'waiting' end,
            reason = case
              when d.next = 'go' or d.next = 'end' then null
              when r.stop = 'pause' then 'paused'
              when d.next = 'park' then d.word end,
            finished_at = case when d.next = 'end' then now_at end,
            undo_open = coalesce(d.undo, r.undo_open),
            diverged_builds = case when d.build is null then r.diverged_builds
              else (array[d.build] || array_remove(r.diverged_builds, d.build))[1:8] end
          from unnest(t_uid, t_owner, t_epoch, t_seq, t_count, t_taken, t_seen, t_mail, t_outcome, t_before, t_due, t_next, t_word, t_stop, t_undo, builds)
            with ordinality d (uid, owner, epoch, seq, count, taken, seen, mail, outcome, before, due, next, word, stop_seen, undo, build, i)
          where coalesce(d.mail, 0) = phase - 1 and applied[d.i] = 0
            and r.uid = d.uid and r.owner is not distinct from coalesce(d.owner, by_id) and r.epoch = d.epoch and r.seq <= d.seq
            and d.seq = (select j.seq from journal j where j.uid = d.uid order by j.seq desc limit 1)
            and (d.before is null or instant_v1(d.before) <= now_at)
            and (d.next <> 'end' or r.stop is null or r.stop is not distinct from d.stop_seen)
          returning d.i, d.count, r.uid, r.seq, r.inbox, r.stop)
      select coalesce(array_agg(u.i), '{}'),
          string_agg(concat_ws(E'\\x1f', 't', u.i, 'done', u.inbox, coalesce(u.stop, ''), 0), E'\\x1e') filter (where u.inbox > 0 or u.stop is not null),
          count(*) filter (where u.inbox = 0 and u.stop is null),
          string_agg(concat(u.uid, ':', u.seq - u.count + 1, ':', u.seq), ',') filter (where feed_asked and u.count > 0)
        into touched, part, part_silent, part_spans from u;
      foreach at_turn in array touched loop applied[at_turn] := phase; end loop;
      just := just || touched;
      silent := silent + part_silent;
      turn_answers := nullif(concat_ws(E'\\x1e', turn_answers, part), '');
      spans := nullif(concat_ws(',', spans, part_spans), '');
    end if;

    if cardinality(just) > 0 then
      applied_count := applied_count + cardinality(just);
      is_whole := cardinality(just) = turn_count;
      insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
        select t_uid[e.turn], t_seq[e.turn] + e.no, t_epoch[e.turn], instant_v1(e.at), e.occurrence, e.attempt, e.kind, e.name, e.meta, e.payload
          from unnest(e_turn, e_no, e_occurrence, e_attempt, e_at, e_kind, texts_v1(e_name), texts_v1(e_meta), texts_v1(e_payload))
            e (turn, no, occurrence, attempt, at, kind, name, meta, payload)
          where is_whole or applied[e.turn] = phase;
      if t_state <> '' then
        insert into states (uid, place, error, state)
          select t.uid, nullif(split_part(t.shown, E'\\x1c', 1), ''), nullif(split_part(t.shown, E'\\x1c', 2), ''), nullif(split_part(t.shown, E'\\x1c', 3), '')
            from unnest(t_uid, texts_v1(t_state)) with ordinality t (uid, shown, i)
            where t.shown is not null and (is_whole or applied[t.i] = phase)
          on conflict (uid) do update set
            place = coalesce(excluded.place, states.place),
            error = case when excluded.place is null then states.error else excluded.error end,
            state = coalesce(excluded.state, states.state);
      end if;
      if cardinality(k_turn) > 0 then
        plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
        update messages m set taken_seq = case when k.no > 0 then t_seq[k.turn] + t_count[k.turn] else 0 end, payload = null
          from unnest(k_turn, k_no) k (turn, no)
          where applied[k.turn] = phase and m.uid = t_uid[k.turn] and m.no = abs(k.no);
        plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
      end if;
    end if;

    -- Starts: the children of the turns just applied (their ids are their uids: they never wait), and in phase 1
    -- those of callers, in order of their ids.
    if start_count > 0 then
      with s as (
        select * from unnest(s_turn, s_uid, s_claim, s_priority, s_delay, s_timeout, s_parent, texts_v1(s_parent_id), texts_v1(s_workspace),
            texts_v1(s_id), texts_v1(s_def), texts_v1(s_version), texts_v1(s_tags))
            with ordinality s (turn, uid, claim, priority, delay, timeout, parent, parent_id, workspace, id, def, version, tags, i)
          where (s.turn = 0 and phase = 1) or applied[s.turn] = phase),
      n as (
        insert into runs (uid, owner, due_at, created_at, updated_at, started_at, deadline_at, epoch, seq, priority, status,
            workspace, id, def, version, parent_uid, parent_id, tags)
          select s.uid, case when s.claim then by_id end,
              case when not s.claim then now_at + s.delay * interval '1 millisecond' end, now_at, now_at, case when s.claim then now_at end,
              now_at + (s.delay + s.timeout) * interval '1 millisecond', case when s.claim then 1 else 0 end, 1, s.priority,
              case when s.claim then 'running' else 'pending' end, s.workspace, s.id, s.def,
              coalesce(s.version, case when s.claim then versions[array_position(names, s.def)] end), s.parent, s.parent_id, s.tags
            from s order by s.workspace collate "C", s.id collate "C", s.i
            on conflict do nothing
            returning uid)
      select (select count(*) from s), (select coalesce(array_agg(n.uid), '{}') from n), (select string_agg(concat(n.uid, ':1:1'), ',') from n where feed_asked)
        into starts_picked, stored, part_spans;
      if starts_picked > 0 then
        -- New rows are ours: a message to a child of the same delta finds it.
        if phase = 2 then
          locked := locked || array(select s.uid from unnest(s_turn, s_uid) s (turn, uid) where applied[s.turn] = phase);
        end if;
        spans := nullif(concat_ws(',', spans, part_spans), '');
        is_whole := cardinality(stored) = starts_picked;
        insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
          select s.uid, 1, case when s.claim then 1 else 0 end, now_at, 0, 0, 'run.created', '', s.meta, s.input
            from unnest(s_turn, s_uid, s_claim, texts_v1(s_meta), texts_v1(s_input)) s (turn, uid, claim, meta, input)
            where ((s.turn = 0 and phase = 1) or applied[s.turn] = phase)
              and (is_whole or exists (select 1 from runs r where r.uid = s.uid))
            on conflict do nothing;
        -- A later statement than the insert: only now those are visible that it met. Our own uid is our own start,
        -- and \`done\` says that an earlier sending has stored it.
        if phase = 1 and not is_whole then
          plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
          select string_agg(case when r.uid = s.uid then concat_ws(E'\\x1f', 's', s.i, 'done') else
              concat_ws(E'\\x1f', 's', s.i, 'exists', r.uid, r.def, (r.def = s.def and j.payload is not distinct from s.input)::int) end, E'\\x1e'),
              string_agg(s.id, ', ') filter (where r.uid is null)
            into part, part_spans
            from unnest(s_turn, s_uid, texts_v1(s_workspace), texts_v1(s_id), texts_v1(s_def), texts_v1(s_input))
              with ordinality s (turn, uid, workspace, id, def, input, i)
            left join lateral (select r.uid, r.def from runs r where r.workspace = s.workspace and r.id = s.id limit 1) r on true
            left join lateral (select j.payload from journal j where j.uid = r.uid and j.seq = 1 limit 1) j on true
            where s.turn = 0 and (r.uid is distinct from s.uid or s.uid <> all (stored));
          plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
          if part_spans is not null then
            raise exception 'the uid of % is taken', part_spans using errcode = '23505';
          end if;
          answers := nullif(concat_ws(E'\\x1e', answers, part), '');
        end if;
      end if;
    end if;
  end loop;

  if t_waits is not null or t_events is not null then
    perform listen_v1(t_uid, applied, t_waits, t_events, now_at);
  end if;
  if t_documents is not null or t_answers is not null then
    perform leave_behind_v1(t_uid, t_seq, applied, t_documents, t_answers);
  end if;

  -- Mail. Known ids come first (they change nothing, whatever became of the run), then the state of the run, then the
  -- limit, which is for callers' signals only: a cancel and a child's result must not be lost.
  if mail_count > 0 then
    plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
    select array_agg(k.no order by m.i) into known_numbers
      from unnest(m_to, texts_v1(m_id)) with ordinality m (target, id, i)
      left join lateral (select k.no from messages k where k.uid = m.target and k.id = m.id limit 1) k on true;
    plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);

    with m as (
      select m.i, m.turn, m.target, m.id, m.kind, m.is_live, r.uid, r.finished_at, r.inbox, r.taken, m.known,
          m.target = any (skipped) as is_skipped, row_number() over (partition by m.is_live, m.target, m.id order by m.i) as copy
        from (
          select m.*, m.turn = 0 or applied[m.turn] = 2 as is_live, m.target = any (locked) as is_locked
            from unnest(m_turn, m_to, texts_v1(m_id), m_kind, known_numbers) with ordinality m (turn, target, id, kind, known, i)) m
        left join lateral (select r.uid, r.finished_at, r.inbox, r.taken from runs r where r.uid = m.target limit 1) r on m.is_locked),
    placed as (
      select m.*, row_number() over (partition by m.target, m.is_live and m.known is null and m.copy = 1 order by m.i) as place from m),
    judged as (
      select p.*, case
          when not p.is_live then 'none'
          when p.is_skipped then 'busy'
          when p.uid is null then 'RUN_NOT_FOUND'
          when p.known is not null then 'known'
          when p.finished_at is not null then 'RUN_FINISHED'
          when p.copy > 1 then 'copy'
          when p.turn = 0 and p.kind in ('signal', 'trigger') and p.inbox - p.taken + p.place > mailbox_max then 'MAILBOX_FULL'
          else 'new' end as fate
        from placed p),
    numbered as (
      select j.i, j.is_live, j.target, j.id, j.fate,
          coalesce(j.known, j.inbox + row_number() over (partition by j.target, j.fate order by j.i)) as no from judged j),
    settled as (
      select n.i, n.fate, first_value(n.fate) over w as first_fate, first_value(n.no) over w as no
        from numbered n window w as (partition by n.is_live, n.target, n.id order by n.i))
    select array_agg(case when s.fate <> 'copy' then s.fate when s.first_fate = 'new' then 'known' else s.first_fate end order by s.i),
        array_agg(coalesce(s.no, 0) order by s.i)
      into fates, numbers from settled s;

    insert into messages (uid, no, at, id, kind, name, meta, payload)
      select m.target, m.no, now_at, m.id, m.kind, m.name, m.meta, m.payload
        from unnest(m_to, numbers, fates, texts_v1(m_id), m_kind, texts_v1(m_name), texts_v1(m_meta), texts_v1(m_payload))
          m (target, no, fate, id, kind, name, meta, payload)
        where m.fate = 'new';

    -- Whoever makes a run runnable may take it in the same commit: \`take\`, written once for signals and cancels.
    if 'new' = any (fates) then
      with g as (
        select m.target, count(*)::int as count, bool_or(m.kind = 'cancel') as cancel,
            bool_or(m.kind = 'cancel' and m.name = 'force') as force, bool_or(m.claim) as claim
          from unnest(m_to, fates, m_kind, texts_v1(m_name), m_claim) m (target, fate, kind, name, claim) where m.fate = 'new' group by m.target),
      t as (
        select g.*, r.is_taken, r.version from g cross join lateral (
          select r.version, g.claim and r.owner is null and r.crashes < suspect_from
              and (g.cancel or r.stop is null or r.stop = 'cancel')
              and (((g.cancel or r.stop is not distinct from 'cancel') and (r.undo_open = 0 or g.force))
                or ((g.cancel or r.stop is not distinct from 'cancel' or r.status = 'waiting' or r.due_at <= now_at)
                  and not (by_build = any (coalesce(r.diverged_builds, '{}')))
                  and exists (select 1 from unnest(names, versions) w (name, version)
                    where w.name = r.def and (r.version is null or w.version = r.version)))) as is_taken
            from runs r where r.uid = g.target limit 1) r),
      u as (
        update runs r set
            inbox = r.inbox + t.count,
            stop = case when t.cancel then 'cancel' else r.stop end,
            undo_open = case when t.force then 0 else r.undo_open end,
            due_at = case
              when t.is_taken or r.owner is not null then null
              when t.cancel or r.stop is not distinct from 'cancel' or (r.stop is null and r.status = 'waiting') then least(r.due_at, now_at)
              else r.due_at end,
            owner = case when t.is_taken then by_id else r.owner end,
            epoch = case when t.is_taken then r.epoch + 1 else r.epoch end,
            status = case when t.is_taken then 'running' else r.status end,
            reason = case when t.is_taken then null else r.reason end,
            started_at = case when t.is_taken then coalesce(r.started_at, now_at) else r.started_at end,
            updated_at = case when t.is_taken then now_at else r.updated_at end,
            version = case when t.is_taken then coalesce(r.version, versions[array_position(names, r.def)]) else r.version end
          from t where r.uid = t.target
          returning t.is_taken, claimed_v1(r, r.seq) as row)
      select string_agg(u.row, E'\\x1e') filter (where u.is_taken) into claimed from u;
    end if;

    select string_agg(concat_ws(E'\\x1f', 'm', m.i, case when m.fate in ('new', 'known') then 'done' when m.fate = 'busy' then 'busy' else 'refused' end,
        coalesce(r.uid::text, ''), coalesce(r.inbox, 0), coalesce(r.stop, ''), m.no, m.fate, coalesce(r.status, '')), E'\\x1e')
      into part
      from unnest(m_turn, m_to, fates, numbers) with ordinality m (turn, target, fate, no, i)
      left join lateral (select r.uid, r.inbox, r.stop, r.status from runs r where r.uid = m.target limit 1) r on true
      where m.turn = 0;
    answers := nullif(concat_ws(E'\\x1e', answers, part), '');
    -- The turns' rows once more: mail of this batch may have come behind them.
    silent := 0;
    select string_agg(concat_ws(E'\\x1f', 't', t.i, 'done', r.inbox, coalesce(r.stop, ''), 0), E'\\x1e') into turn_answers
      from unnest(t_uid, applied) with ordinality t (uid, phase, i)
      cross join lateral (select r.inbox, r.stop from runs r where r.uid = t.uid limit 1) r
      where t.phase > 0;
  end if;

  -- What the fence did not let through. Our own epoch at the last seq: an earlier sending has stored it (C5).
  if applied_count < turn_count then
    select string_agg(concat_ws(E'\\x1f', 't', t.i, case
          when resent and t.count > 0 and j.epoch = t.epoch then 'done'
          when l.seq = t.seq and r.epoch = t.epoch and r.owner is not distinct from coalesce(t.owner, by_id) then case
            when instant_v1(t.before) > now_at then 'early'
            when t.next = 'end' and r.stop is not null and r.stop is distinct from t.stop_seen then 'stopping'
            else 'busy' end
          when resent and t.count = 0 then 'done'
          else 'stale' end, coalesce(r.inbox, 0), coalesce(r.stop, ''), 1), E'\\x1e')
      into part
      from unnest(t_uid, t_owner, t_epoch, t_seq, t_count, t_mail, t_before, t_next, t_stop, applied)
        with ordinality t (uid, owner, epoch, seq, count, mail, before, next, stop_seen, phase, i)
      left join lateral (select r.owner, r.epoch, r.inbox, r.stop from runs r where r.uid = t.uid limit 1) r on true
      left join lateral (select j.seq from journal j where j.uid = t.uid order by j.seq desc limit 1) l on true
      left join lateral (select j.epoch from journal j where j.uid = t.uid and j.seq = t.seq + t.count limit 1) j on true
      where t.phase = 0 and coalesce(t.mail, 0) < 2;
    answers := nullif(concat_ws(E'\\x1e', answers, part), '');
  end if;

  if spans is not null then
    if feed_into is null then
      insert into feed (worker, pending, at, ranges) values (by_id, true, now_at, spans) returning id::text into feed_row;
    else
      update feed f set ranges = concat_ws(',', f.ranges, spans) where f.id = feed_into returning f.id::text into feed_row;
    end if;
  end if;

  answers := nullif(concat_ws(E'\\x1e', turn_answers, answers), '');
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- What the entries of turns leave beside the journal, as JSON: [turn, entry, hidden, id, type, key, tags, content], and the messages
-- that they answer: [turn, no, entry], null: later. Rare, so it is planned each time (C6).
create function @schema@.leave_behind_v1(t_uid uuid[], t_seq int[], applied int[], t_documents text, t_answers text) returns void
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan
as $f$
declare
  d json;
  run uuid;
  at_seq int;
  old documents;
begin
  for d in select e.one from json_array_elements(t_documents::json) with ordinality e (one, i)
      where applied[(e.one ->> 0)::int] > 0 order by e.i loop
    run := t_uid[(d ->> 0)::int];
    at_seq := t_seq[(d ->> 0)::int] + (d ->> 1)::int;
    old := null;
    if d ->> 5 is not null then
      update documents o set until_seq = at_seq
        where o.uid = run and o.type = d ->> 4 and o.key = d ->> 5 and o.until_seq is null returning o.* into old;
    end if;
    insert into documents (uid, seq, no, position_seq, position_no, hidden, id, type, key, tags, content)
      select run, at_seq, n.no, coalesce(old.position_seq, at_seq), coalesce(old.position_no, n.no), (d ->> 2)::boolean, d ->> 3, d ->> 4,
          d ->> 5, array(select json_array_elements_text(d -> 6)), d ->> 7
        from (select coalesce(max(o.no), 0) + 1 as no from documents o where o.uid = run and o.seq = at_seq) n;
  end loop;
  if t_answers is not null then
    -- The last word about a message counts.
    update messages m set reply_seq = coalesce(t_seq[a.turn] + a.entry, 0)
      from (select distinct on (a.turn, a.no) a.turn, a.no, a.entry
        from (select (e.one ->> 0)::int as turn, (e.one ->> 1)::int as no, (e.one ->> 2)::int as entry, e.i
          from json_array_elements(t_answers::json) with ordinality e (one, i)) a
        where applied[a.turn] > 0 order by a.turn, a.no, a.i desc) a
      where m.uid = t_uid[a.turn] and m.no = a.no;
  end if;
end $f$;` },
  { number: 3, name: 'ownership', breaking: false, sql: `-- breaking: no
-- Who owns a run, and who gives it back.
--
-- O1. A run is given to one claimer: chosen without locks, then locked by its uid with skip locked, and taken only if
--     nothing that mattered for the choice has changed.
-- O2. Owners without a workers row own nothing for long: every pass frees their runs, by name, so that a run which has
--     moved on meanwhile is left alone.
-- O3. Only reap counts crashes.
-- O4. Who frees runs has deleted or locked the row of their owner before, in an earlier statement: no turn of its is under way
--     that has only read its fence (0002, C7), and the seq of a freed run is that of its last entry.

-- Takes up to \`places\` due runs for \`by_id\`, at most \`suspects\` of them with crashes >= 2 (CRASHES_SUSPECT). Those over the
-- limit (CRASHES_MAX = 5) are not counted: they are ended, never executed.
-- One range of runs_due per (definition, version, priority) that has rows: sleepers and foreign code are never walked.
-- Planned once per session: to each part only one index fits, whatever the statistics say (plans.test.ts).
create function @schema@.claim_v1(by_id uuid, by_build text, by_names text, by_versions text, places int, suspects int)
returns table (now_ms float8, claimed text, next_due_ms float8)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set lock_timeout = '100ms'
as $f$
declare
  now_at constant timestamptz := clock_v1();
  names constant text[] := texts_v1(by_names);
  versions constant text[] := texts_v1(by_versions);
  -- More than places: another claimer may hold the first ones.
  look constant int := 2 * places + 100;
  g_def text[];
  g_version text[];
  g_priority int[];
  c_uid uuid[];
  c_epoch int[];
  c_crashes int[];
  c_stop text[];
begin
  with recursive have (def, version) as (
    select w.name, w.version from unnest(names, versions) w (name, version) union select w.name, '' from unnest(names) w (name)),
  g (def, version, priority) as (
    select h.def, h.version, p.priority from have h cross join lateral (
      select r.priority from runs r where r.def = h.def and coalesce(r.version, '') = h.version
        and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2
        order by r.priority desc limit 1) p
    union all
    select g.def, g.version, p.priority from g cross join lateral (
      select r.priority from runs r where r.def = g.def and coalesce(r.version, '') = g.version and r.priority < g.priority
        and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2
        order by r.priority desc limit 1) p)
  select array_agg(g.def), array_agg(g.version), array_agg(g.priority) into g_def, g_version, g_priority from g;

  if places > 0 then
    with have (def, version) as (
      select w.name, w.version from unnest(names, versions) w (name, version) union select w.name, '' from unnest(names) w (name)),
    found as (
      select r.* from unnest(g_def, g_version, g_priority) g (def, version, priority) cross join lateral (
        select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
          where r.def = g.def and coalesce(r.version, '') = g.version and r.priority = g.priority and r.due_at <= now_at
            and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2
          order by r.due_at limit look) r
      union all
      select r.* from have h cross join lateral (
        select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
          where r.def = h.def and coalesce(r.version, '') = h.version and r.due_at <= now_at and suspects > 0
            and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes >= 2
          order by r.priority desc, r.due_at limit look) r
      union all
      select r.* from have h cross join lateral (
        select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
          where r.def = h.def and coalesce(r.version, '') = h.version and r.diverged_builds[1] < by_build and r.due_at <= now_at
            and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is not null
            and by_build <> all (r.diverged_builds) limit look) r
      union all
      select r.* from have h cross join lateral (
        select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
          where r.def = h.def and coalesce(r.version, '') = h.version and r.diverged_builds[1] > by_build and r.due_at <= now_at
            and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is not null
            and by_build <> all (r.diverged_builds) limit look) r
      union all
      (select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
        where r.due_at <= now_at and r.owner is null and r.due_at is not null and r.stop = 'cancel' and r.undo_open = 0 order by r.due_at limit look)
      union all
      select r.* from have h cross join lateral (
        select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
          where r.def = h.def and coalesce(r.version, '') = h.version and r.due_at <= now_at
            and r.owner is null and r.due_at is not null and r.stop = 'cancel' and r.undo_open > 0
            and by_build <> all (coalesce(r.diverged_builds, '{}')) order by r.due_at limit look) r
      union all
      (select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.due_at from runs r
        where r.due_at <= now_at and r.owner is null and r.due_at is not null and r.stop is null and r.crashes >= 5 order by r.due_at limit look)
      union all
      (select r.uid, r.epoch, r.crashes, r.stop, r.priority, r.deadline_at from runs r
        where r.deadline_at <= now_at and r.owner is null and r.finished_at is null and r.stop is null and r.deadline_at is not null and r.undo_open = 0
        order by r.deadline_at limit look)),
    once as (
      select f.uid, f.epoch, f.crashes, f.stop, f.priority, min(f.due_at) as due_at from found f group by 1, 2, 3, 4, 5),
    ranked as (
      select o.*, row_number() over (partition by o.crashes between 2 and 4 order by o.priority desc, o.due_at, o.uid) as place from once o)
    select array_agg(r.uid order by r.priority desc, r.due_at, r.uid), array_agg(r.epoch order by r.priority desc, r.due_at, r.uid),
        array_agg(r.crashes order by r.priority desc, r.due_at, r.uid), array_agg(r.stop order by r.priority desc, r.due_at, r.uid)
      into c_uid, c_epoch, c_crashes, c_stop
      from ranked r where r.crashes not between 2 and 4 or r.place <= suspects;

    with c as materialized (
      select c.uid, c.i from unnest(c_uid, c_epoch, c_crashes, c_stop) with ordinality c (uid, epoch, crashes, stop, i) cross join lateral (
        select 1 from runs r
          where r.uid = c.uid and r.epoch = c.epoch and r.crashes = c.crashes and r.stop is not distinct from c.stop
            and r.owner is null and r.finished_at is null
          for no key update skip locked) r
        limit places),
    u as (
      update runs r set owner = by_id, epoch = r.epoch + 1, due_at = null, status = 'running', reason = null, updated_at = now_at,
          started_at = coalesce(r.started_at, now_at), version = coalesce(r.version, versions[array_position(names, r.def)])
        from c where r.uid = c.uid
        returning c.i, claimed_v1(r, r.seq) as row)
    select string_agg(u.row, E'\\x1e' order by u.i) into claimed from u;
  end if;

  select ms_v1(least(min(r.due_at), (
      select r.deadline_at from runs r
        where r.owner is null and r.finished_at is null and r.stop is null and r.deadline_at is not null and r.undo_open = 0 order by r.deadline_at limit 1)))
    into next_due_ms
    from unnest(g_def, g_version, g_priority) g (def, version, priority) cross join lateral (
      select r.due_at from runs r
        where r.def = g.def and coalesce(r.version, '') = g.version and r.priority = g.priority
          and r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2
        order by r.due_at limit 1) r;
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- Entries after from_seq and untaken messages after from_no of the runs still owned under (owner, epoch). One snapshot
-- for all of it (the function is stable). Rows of at most 256 entries, so that none comes near a gigabyte.
-- From the beginning: without what the last end of a round, or the last re-opening, says is behind ("behind": [first, last,
-- first, last, …]), and with the number of the last message that was taken. \`bounds\` has these numbers between 0 and
-- infinity: what stands between a first and a second of them is wanted. (offset 0: else the planner may read the whole
-- journal first and look at the bounds then.)
create function @schema@.load_v1(l_uid uuid[], l_owner uuid[], l_epoch int[], l_seq int[], l_no int[])
returns table (place int, entries text, mail text, taken int)
language plpgsql stable
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
begin
  if 0 = any (l_seq) then
    return query
      select l.i::int, e.entries, null::text, t.no
        from unnest(l_uid, l_owner, l_epoch, l_seq) with ordinality l (uid, owner, epoch, seq, i)
        cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
        left join lateral (
          select translate(j.meta::json ->> 'behind', '[]', '{}')::int[] as behind from journal j
            where j.uid = l.uid and j.kind in ('round.ended', 'run.reopened') order by j.seq desc limit 1) s on true
        left join lateral (
          select m.no from messages m where m.uid = l.uid and m.taken_seq is not null order by m.no desc limit 1) t on true
        cross join lateral (select array[0] || s.behind || array[2147483647] as bounds) b
        left join lateral (
          select string_agg(concat_ws(E'\\x1f', j.seq, ms_v1(j.at), j.kind, j.name, j.occurrence, j.attempt, coalesce(j.meta, E'\\x1d'), coalesce(j.payload, E'\\x1d')),
              E'\\x1e' order by j.seq) as entries
            from generate_series(1, cardinality(b.bounds), 2) g (i)
            cross join lateral (
              select j.* from journal j where j.uid = l.uid and j.seq > b.bounds[g.i] and j.seq < b.bounds[g.i + 1] offset 0) j
            group by j.seq >> 8 order by j.seq >> 8) e on true
        where l.seq = 0;
  end if;
  if 0 < any (l_seq) then
    return query
      select l.i::int, e.entries, null::text, null::int
        from unnest(l_uid, l_owner, l_epoch, l_seq) with ordinality l (uid, owner, epoch, seq, i)
        cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
        left join lateral (
          select string_agg(concat_ws(E'\\x1f', j.seq, ms_v1(j.at), j.kind, j.name, j.occurrence, j.attempt, coalesce(j.meta, E'\\x1d'), coalesce(j.payload, E'\\x1d')),
              E'\\x1e' order by j.seq) as entries
            from journal j where j.uid = l.uid and j.seq > l.seq group by j.seq >> 8 order by j.seq >> 8) e on true
        where l.seq > 0;
  end if;
  return query
    select l.i::int, null::text, m.mail, null::int
      from unnest(l_uid, l_owner, l_epoch, l_no) with ordinality l (uid, owner, epoch, no, i)
      cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
      cross join lateral (
        select string_agg(concat_ws(E'\\x1f', m.no, ms_v1(m.at), m.id, m.kind, m.name, coalesce(m.meta, E'\\x1d'), coalesce(m.payload, E'\\x1d')),
            E'\\x1e' order by m.no) as mail
          from messages m where m.uid = l.uid and m.no > l.no and m.taken_seq is null group by m.no >> 8 order by m.no >> 8) m;
end $f$;

-- Registers an incarnation; again: the same.
create function @schema@.join_v1(by_id uuid, by_build text, by_definitions text, lease_ms float8) returns float8
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  now_at constant timestamptz := clock_v1();
begin
  insert into workers (id, lease_until, started_at, beat, build, definitions)
    values (by_id, now_at + lease_ms * interval '1 millisecond', now_at, 0, by_build, by_definitions)
    on conflict (id) do update set lease_until = excluded.lease_until, build = excluded.build, definitions = excluded.definitions;
  return ms_v1(now_at);
end $f$;

-- Renews the lease and says what the worker owns, as the database sees it.
create function @schema@.beat_v1(by_id uuid, lease_ms float8)
returns table (alive boolean, now_ms float8, owned text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $f$
declare
  now_at timestamptz;
begin
  perform 1 from workers w where w.id = by_id for no key update;
  alive := found;
  now_at := clock_v1();
  update workers w set beat = w.beat + 1, lease_until = now_at + lease_ms * interval '1 millisecond' where w.id = by_id;
  -- With the seq of the last entry, which the row may lag behind (0002, C7).
  select string_agg(claimed_v1(r, j.seq), E'\\x1e') into owned
    from runs r cross join lateral (select j.seq from journal j where j.uid = r.uid order by j.seq desc limit 1) j
    where r.owner = by_id;
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- Frees the runs of these owners: due at once, a paused one at rest. Never waits; a thousand at a time.
create function @schema@.free_v1(owners uuid[], crashed int) returns int
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
  freed int;
begin
  with l as materialized (
    select r.uid from runs r where r.owner = any (owners) limit 1000 for no key update skip locked)
  update runs r set owner = null, seq = greatest(r.seq, j.seq), crashes = r.crashes + crashed, updated_at = now_at,
      due_at = case when r.stop is distinct from 'pause' then now_at end,
      status = case when greatest(r.seq, j.seq) = 1 and r.stop is distinct from 'pause' then 'pending' else 'waiting' end,
      reason = case when r.stop = 'pause' then 'paused' end
    from l cross join lateral (select j.seq from journal j where j.uid = l.uid order by j.seq desc limit 1) j
    where r.uid = l.uid;
  get diagnostics freed = row_count;
  return freed;
end $f$;

-- Gives all back and removes the row. Again until nothing is left: a row may be locked by a sender for a moment.
create function @schema@.leave_v1(by_id uuid) returns int
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  freed int;
begin
  perform 1 from workers w where w.id = by_id for update;
  freed := free_v1(array[by_id], 0);
  if not exists (select 1 from runs r where r.owner = by_id) then
    delete from workers w where w.id = by_id;
    return 0;
  end if;
  return freed + 1;
end $f$;

-- Deletes the rows of unmoved workers whose lease is over, then (a later statement, O2) frees the runs of every owner
-- without a row, and hands their undelivered feed rows to \`by_id\` (null: to nobody), fifty at a time in the order of their
-- ids. \`again_after\`: also those that it has behind this id (null: not those), for who has lost an answer.
create function @schema@.reap_v1(u_id uuid[], u_beat int[], by_id uuid, again_after bigint, feed_keep_ms float8)
returns table (workers text, dead text, freed int, inherited text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
  orphans uuid[];
begin
  with d as (
    delete from workers w using unnest(u_id, u_beat) u (id, beat)
      where w.id = u.id and w.beat = u.beat and w.lease_until < now_at returning w.id)
  select string_agg(d.id::text, ',') into dead from d;

  with recursive o (id) as (
    (select r.owner from runs r where r.owner is not null order by r.owner limit 1)
    union all
    select n.owner from o cross join lateral (select r.owner from runs r where r.owner > o.id order by r.owner limit 1) n)
  select array_agg(o.id) into orphans from o where not exists (select 1 from workers w where w.id = o.id);
  freed := case when orphans is null then 0 else free_v1(orphans, 1) end;

  if by_id is not null then
    with recursive o (id) as (
      (select f.worker from feed f where f.pending order by f.worker limit 1)
      union all
      select n.worker from o cross join lateral (select f.worker from feed f where f.pending and f.worker > o.id order by f.worker limit 1) n),
    l as materialized (
      select f.id from o cross join lateral (
        select f.id from feed f where f.pending and f.worker = o.id and f.id > case when o.id = by_id then coalesce(again_after, 0) else 0 end
          order by f.id limit 50 for update skip locked) f
        where not exists (select 1 from workers w where w.id = o.id) or (again_after is not null and o.id = by_id)
        order by f.id limit 50),
    t as (
      update feed f set worker = by_id from l where f.id = l.id returning f.id)
    select string_agg(t.id::text, ',' order by t.id) into inherited from t;
  end if;
  delete from feed f using (
    select h.id from feed h where not h.pending and h.at < now_at - feed_keep_ms * interval '1 millisecond' order by h.at limit 10000 for update skip locked) h
    where f.id = h.id;

  select string_agg(concat(w.id, ':', w.beat), ',') into workers from @schema@.workers w;
  return next;
end $f$;

-- Re-opens failed runs, deepest first, all or none: each still failed with the attempt that was seen. A deadline that has
-- passed is dropped: it would end the run again at once.
create function @schema@.reopen_v1(
  r_uid uuid[], r_attempt int[], r_due boolean[], e_at float8[], e_kind text[], e_occurrence int[], e_attempt int[], e_name text, e_meta text, e_payload text
) returns boolean
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  matching int;
  now_at timestamptz;
begin
  select count(*) into matching from unnest(r_uid, r_attempt) c (uid, attempt) cross join lateral (
    select 1 from runs r where r.uid = c.uid and r.attempt = c.attempt and r.status = 'failed' for no key update) r;
  if matching < cardinality(r_uid) then
    return false;
  end if;
  now_at := clock_v1();
  insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
    select e.uid, r.seq + 1, r.epoch, instant_v1(e.at), e.occurrence, e.attempt, e.kind, e.name, e.meta, e.payload
      from unnest(r_uid, e_at, e_kind, e_occurrence, e_attempt, texts_v1(e_name), texts_v1(e_meta), texts_v1(e_payload))
        e (uid, at, kind, occurrence, attempt, name, meta, payload)
      cross join lateral (select r.seq, r.epoch from runs r where r.uid = e.uid limit 1) r;
  update runs r set seq = r.seq + 1, attempt = r.attempt + 1, crashes = 0, status = 'waiting', reason = case when c.due then null else 'child' end,
      finished_at = null, updated_at = now_at, due_at = case when c.due then now_at end,
      deadline_at = case when r.deadline_at <= now_at then null else r.deadline_at end
    from unnest(r_uid, r_due) c (uid, due) where r.uid = c.uid;
  return true;
end $f$;

-- What became of a step's own transaction whose commit was not answered: locking its run's row waits for its fate,
-- the next statement reads it.
create function @schema@.resolve_v1(of_uid uuid, of_owner uuid, of_epoch int, last_seq int) returns text
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  is_ours boolean;
begin
  select r.owner is not distinct from of_owner and r.epoch = of_epoch into is_ours from runs r where r.uid = of_uid for update;
  if exists (select 1 from journal j where j.uid = of_uid and j.seq = last_seq and j.epoch = of_epoch) then
    return 'applied';
  end if;
  return case when is_ours then 'absent' else 'stale' end;
end $f$;` },
  { number: 4, name: 'operating', breaking: false, sql: `-- breaking: no
-- What people and their own transactions do to runs.
--
-- A1. A start or a signal inside a caller's transaction takes no lock of a run that was there before: an open transaction
--     holds up nobody but who starts the same id.

-- Signals of callers' transactions. Whoever finds them after the commit sends them on under their ids.
create table @schema@.letters (
  no bigserial primary key,
  at timestamptz not null,
  workspace text not null,
  run text not null,
  id text not null,
  name text not null,
  payload text
);

-- One start, due and unclaimed, with its first message; alone, or inside a caller's transaction (\`is_within\`).
create function @schema@.start_v1(
  s_uid uuid, s_priority int, s_delay float8, s_timeout float8, s_workspace text, s_id text, s_def text, s_version text, s_tags text,
  s_meta text, s_input text, m_id text, m_name text, m_payload text, is_within boolean
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
  waits text;
begin
  -- Alone it has a connection of the commits; in a transaction of others the wait is theirs.
  if not is_within then
    waits := set_config('lock_timeout', '100ms', true);
  end if;
  insert into runs as r (uid, due_at, created_at, updated_at, deadline_at, epoch, seq, inbox, priority, status, workspace, id, def, version, tags)
    values (s_uid, now_at + s_delay * interval '1 millisecond', now_at, now_at, now_at + (s_delay + s_timeout) * interval '1 millisecond',
      0, 1, case when m_id is null then 0 else 1 end, s_priority, 'pending', s_workspace, s_id, s_def, s_version, s_tags)
    on conflict do nothing;
  if found then
    insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
      values (s_uid, 1, 0, now_at, 0, 0, 'run.created', '', s_meta, s_input);
    if m_id is not null then
      insert into messages (uid, no, at, id, kind, name, payload) values (s_uid, 1, now_at, m_id, 'signal', m_name, m_payload);
    end if;
    kind := 'done';
    return next;
    return;
  end if;
  -- A later statement than the insert: only now the row is visible that it met.
  select case when r.uid = s_uid then 'done' else 'exists' end, r.uid::text, r.def, r.def = s_def and j.payload is not distinct from s_input
    into kind, uid, def, is_same
    from runs r cross join lateral (select j.payload from journal j where j.uid = r.uid and j.seq = 1) j
    where r.workspace = s_workspace and r.id = s_id;
  if kind is null then
    raise exception 'the uid of % is taken', s_id using errcode = '23505';
  end if;
  if is_within and m_id is not null and kind = 'exists' and is_same then
    insert into letters (at, workspace, run, id, name, payload) values (now_at, s_workspace, s_id, m_id, m_name, m_payload);
  end if;
  return next;
end $f$;

-- A paused run keeps its due time, which no claim looks at (\`stop is null\`). Resumed it is due now, and the turn finds out what
-- it waits for; one that was never claimed is due when it was.
create function @schema@.pause_v1(of_workspace text, of_id text, is_paused boolean) returns table (uid text, refusal text, status text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  now_at timestamptz;
  r runs;
begin
  select * into r from runs where runs.workspace = of_workspace and runs.id = of_id for no key update;
  uid := r.uid::text;
  status := r.status;
  if r.uid is null then
    refusal := 'RUN_NOT_FOUND';
  elsif r.finished_at is not null then
    refusal := 'RUN_FINISHED';
  elsif r.stop = 'cancel' then
    refusal := 'RUN_FINISHED';
    status := 'being cancelled';
  elsif is_paused and r.stop is null then
    now_at := clock_v1();
    update runs set stop = 'pause', updated_at = now_at,
        status = case when r.owner is null then 'waiting' else r.status end,
        reason = case when r.owner is null then 'paused' end
      where runs.uid = r.uid;
  elsif not is_paused and r.stop = 'pause' then
    now_at := clock_v1();
    update runs set stop = null, updated_at = now_at,
        due_at = case when r.owner is not null then null when r.epoch = 0 then coalesce(r.due_at, now_at) else now_at end,
        status = case when r.owner is not null then r.status when r.epoch = 0 then 'pending' else 'waiting' end,
        reason = case when r.owner is null and r.diverged_builds is not null then 'diverged' end
      where runs.uid = r.uid;
  end if;
  return next;
end $f$;

-- A new run with a copy of the first entries of another, which is only read. Messages were taken by the other run: their
-- numbers mean nothing here. What the other has done is the other's to undo: \`inherited\`. Documents come with the entries that
-- wrote them; what only a later entry has replaced is visible again.
create function @schema@.fork_v1(
  of_uid uuid, up_to int, f_uid uuid, f_id text, f_meta text, f_input text, o_seq int[], o_payload text, forgets int[]
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  now_at constant timestamptz := clock_v1();
begin
  insert into runs (uid, due_at, created_at, updated_at, started_at, deadline_at, epoch, seq, priority, status, workspace, id, def, version, tags)
    select f_uid, now_at, now_at, now_at, r.started_at, now_at + (r.deadline_at - r.created_at), 0, up_to, r.priority, 'pending',
        r.workspace, f_id, r.def, r.version, r.tags
      from runs r where r.uid = of_uid
    on conflict do nothing;
  if found then
    insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
      select f_uid, j.seq, 0, j.at, j.occurrence, j.attempt, j.kind, j.name,
          case when j.seq = 1 then f_meta
            when j.kind = 'message.taken' then (j.meta::jsonb - 'no')::text
            when j.kind in ('step.completed', 'child.ended')
              then ((coalesce(j.meta, '{}')::jsonb - 'no' - 'undoable') || '{"inherited": true}')::text
            when j.seq = any (forgets) then (j.meta::jsonb - 'uid')::text
            else j.meta end,
          case when j.seq = 1 then coalesce(f_input, j.payload) else coalesce(o.payload, j.payload) end
        from journal j left join unnest(o_seq, texts_v1(o_payload)) o (seq, payload) on o.seq = j.seq
        where j.uid = of_uid and j.seq <= up_to;
    insert into documents (uid, seq, no, until_seq, position_seq, position_no, hidden, id, type, key, tags, content)
      select f_uid, d.seq, d.no, case when d.until_seq <= up_to then d.until_seq end, d.position_seq, d.position_no, d.hidden, d.id, d.type,
          d.key, d.tags, d.content
        from documents d where d.uid = of_uid and d.seq <= up_to;
    kind := 'done';
    return next;
    return;
  end if;
  select case when t.uid = f_uid then 'done' else 'exists' end, t.uid::text, t.def,
      j.meta is not distinct from f_meta and j.payload is not distinct from coalesce(f_input, i.payload)
    into kind, uid, def, is_same
    from runs r join runs t on t.workspace = r.workspace and t.id = f_id
    join journal j on j.uid = t.uid and j.seq = 1
    join journal i on i.uid = r.uid and i.seq = 1
    where r.uid = of_uid;
  kind := coalesce(kind, 'gone');
  return next;
end $f$;

-- Deletes runs that ended before the horizon, a bounded part of them: uids begin with the time at which they were made, so
-- everything that could be old enough stands before the uid of the horizon, and no index is needed. One at a time.
create function @schema@.prune_v1(keep_ms float8, after_uid uuid, look int, most int) returns table (is_ours boolean, pruned int, next_uid text)
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
    delete from waits w where w.uid = any (doomed);
    pruned := cardinality(doomed);
    next_uid := case when pruned = most then doomed[pruned] when cardinality(seen) = look then seen[look] end;
  end if;
  return next;
end $f$;` },
  { number: 5, name: 'events', breaking: false, sql: `-- breaking: no
-- Events of a workspace, and runs that wait for one, or for the end of another run.
--
-- V1. Write first, then look, on both sides: an event is a row before waits are looked for, a wait is a row before events are
--     looked for. Whoever looks second sees the other, and the id of the message (that of the wait) makes it once.
-- V2. A wait hears what happens from the moment it was asked for (\`since\`).

-- \`at\` is null inside a caller's transaction: such an event happens when it is first seen. \`keys\`: one text for each field of
-- the payload and its value; a wait's \`match\` must be among them.
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

-- All that a run waits for beside its mailbox: replaced as a whole by the commit that changes it. Either \`event\` or \`run\`.
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
-- [turn, id, name, keys, payload]. \`applied\`: per turn, whether it was applied.
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

-- One event past the group commit. \`is_within\`: in a caller's transaction.
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
end $f$;` },
  { number: 6, name: 'limits', breaking: false, sql: `-- breaking: no
-- Limits: how many runs of a definition, of a workspace or of a key may be under way at once, and how many may begin in a time.
--
-- A1. Admission is separate from claiming. A run with limits has \`slot\`: false, it has none; true, it has one. Only with a slot it
--     is due (\`due_at\`); without one it asks since \`asks_at\`, and no claim sees it. What is to be cancelled, or is over a
--     deadline, needs none.
-- A2. Slots are given by one call at a time (\`admission\` is its lock), which counts those that are taken in a later statement than
--     the one that waited for the lock. So a limit is never exceeded, and nothing can drift: what is counted are the runs.
-- A3. A run that waits gives its slot back in the commit with which it waits, except for its own tasks and retries. One whose worker
--     died keeps it, and is due.
-- A4. Groups, not runs, are walked: a hundred thousand runs that wait under one key cost the others one index probe.

alter table @schema@.runs
  add column slot boolean,
  add column asks_at timestamptz,
  -- Where it is counted beside its definition: '' is nowhere, null together with slot.
  add column limit_workspace text collate "C",
  add column limit_key text collate "C",
  add constraint runs_due_has_slot check (slot is distinct from false or due_at is null or stop = 'cancel'),
  add constraint runs_limited check ((slot is null) = (limit_workspace is null) and (slot is null) = (limit_key is null)),
  add constraint runs_final_has_no_slot check (finished_at is null or slot is distinct from true);

-- Who has a slot.
create index runs_slots on @schema@.runs (def, limit_key) where slot;
create index runs_slots_workspace on @schema@.runs (limit_workspace) where slot;
-- Who asks for one. A group is all that stands before asks_at; those that have never run may be held up by a rate.
create index runs_asking on @schema@.runs (def, limit_workspace, limit_key, priority, (epoch = 0), asks_at, uid)
  where owner is null and asks_at is not null and stop is null and diverged_builds is null;
create index runs_asking_diverged on @schema@.runs (def, asks_at)
  where owner is null and asks_at is not null and stop is null and diverged_builds is not null;

-- What the definitions say, by whoever has joined last with their code. null: no such limit.
create table @schema@.limits (
  def text collate "C" primary key,
  concurrency int,
  per_workspace int,
  per_key int,
  key_path text,
  rate_runs int,
  rate_ms float8,
  key_rate_runs int,
  key_rate_ms float8
);

-- When runs were let in that a rate counts, oldest first, as many as it looks back at. key '': those of the definition.
create table @schema@.rates (
  def text collate "C" not null,
  key text collate "C" not null,
  times timestamptz[] not null,
  primary key (def, key)
) with (fillfactor = 50);

-- One row. Updated, not only locked: at stricter isolation levels a second call then fails and is made again.
create table @schema@.admission (
  is_only boolean primary key default true check (is_only),
  calls bigint not null,
  -- Behind which group the next call goes on.
  after_def text not null,
  after_workspace text not null,
  after_key text not null,
  after_priority int not null,
  after_fresh boolean not null
) with (fillfactor = 10);

-- A run as people see it (0001), with what it asks for.
create or replace view @schema@.shown_v1 as
  select r.uid as run, r.uid::text as uid, r.id, r.workspace, r.def, r.version, r.status, r.reason, r.stop,
      @schema@.ms_v1(coalesce(r.due_at, case when r.owner is null then r.asks_at end)) as due_at,
      r.owner::text as owner, coalesce(o.seq, r.seq) as seq, r.attempt, r.crashes, r.undo_open, r.tags, r.parent_uid::text as parent_uid, r.parent_id,
      @schema@.ms_v1(r.created_at) as created_at, @schema@.ms_v1(greatest(o.at, r.updated_at)) as updated_at, @schema@.ms_v1(r.started_at) as started_at,
      @schema@.ms_v1(r.finished_at) as finished_at, @schema@.ms_v1(r.deadline_at) as deadline_at, f.payload as input,
      l.kind as end_kind, l.name as end_name, l.occurrence as end_occurrence, l.attempt as end_attempt, @schema@.ms_v1(l.at) as end_at,
      l.meta as end_meta, l.payload as end_payload, s.state, s.place, s.error, r.slot, r.limit_workspace, r.limit_key
    from @schema@.runs r
    cross join lateral (select j.payload from @schema@.journal j where j.uid = r.uid and j.seq = 1 limit 1) f
    left join lateral (
      select j.* from @schema@.journal j where j.uid = r.uid and j.seq = r.seq and r.finished_at is not null limit 1) l on true
    left join lateral (
      select j.seq, j.at from @schema@.journal j where j.uid = r.uid and r.owner is not null order by j.seq desc limit 1) o on true
    left join lateral (select s.state, s.place, s.error from @schema@.states s where s.uid = r.uid limit 1) s on true;

-- Joins (0003) and says the limits of its definitions: those that have none any more are forgotten. \`by_limits\`, as JSON:
-- [def, concurrency, per workspace, per key, path, rate, its ms, rate per key, its ms].
create function @schema@.join_v2(by_id uuid, by_build text, by_definitions text, lease_ms float8, by_names text, by_limits text) returns float8
language plpgsql
set search_path = @schema@, pg_temp
as $f$
begin
  if by_names <> '' then
    delete from limits l where l.def = any (texts_v1(by_names))
      and not exists (select 1 from json_array_elements(by_limits::json) n (one) where n.one ->> 0 = l.def);
    insert into limits (def, concurrency, per_workspace, per_key, key_path, rate_runs, rate_ms, key_rate_runs, key_rate_ms)
      select n.one ->> 0, (n.one ->> 1)::int, (n.one ->> 2)::int, (n.one ->> 3)::int, n.one ->> 4,
          (n.one ->> 5)::int, (n.one ->> 6)::float8, (n.one ->> 7)::int, (n.one ->> 8)::float8
        from json_array_elements(by_limits::json) n (one) order by n.one ->> 0
      on conflict (def) do update set concurrency = excluded.concurrency, per_workspace = excluded.per_workspace, per_key = excluded.per_key,
        key_path = excluded.key_path, rate_runs = excluded.rate_runs, rate_ms = excluded.rate_ms,
        key_rate_runs = excluded.key_rate_runs, key_rate_ms = excluded.key_rate_ms;
  end if;
  return join_v1(by_id, by_build, by_definitions, lease_ms);
end $f$;

-- Whether somebody who lives could execute it.
create function @schema@.is_takeable_v1(r @schema@.runs, now_at timestamptz) returns boolean language sql stable as $f$
  select exists (
    select 1 from @schema@.workers w cross join lateral json_array_elements_text(w.definitions::json) d (name)
      where w.lease_until > now_at and w.build <> all (coalesce(r.diverged_builds, '{}'))
        and case when r.version is null then starts_with(d.name, r.def || '@') else d.name = r.def || '@' || r.version end)
$f$;

-- How many more fit under the limits of a run's definition, where it is counted.
create function @schema@.room_v1(r @schema@.runs) returns int language sql volatile as $f$
  select coalesce(least(
      l.concurrency - (select count(*) from @schema@.runs o where o.def = r.def and o.slot),
      case when r.limit_workspace <> '' then l.per_workspace - (select count(*) from @schema@.runs o where o.limit_workspace = r.limit_workspace and o.slot) end,
      case when r.limit_key <> '' then l.per_key - (select count(*) from @schema@.runs o where o.def = r.def and o.limit_key = r.limit_key and o.slot) end), 1)::int
    from (select 1) x left join @schema@.limits l on l.def = r.def
$f$;

-- Gives slots to those that ask for them, in at most \`groups_most\` groups and to at most \`rows_most\` runs: by priority, then the longer
-- asking. Under a limit that several keys (or workspaces) share, each of these gets its turn: who has fewer goes first.
-- \`is_sweep\`: also takes back what nobody alive could use. \`is_end\`: there are no groups behind the last one; \`is_start\`: nor before
-- the first one. \`next_ms\`: when somebody asks next, as far as these groups are concerned.
create function @schema@.admit_v1(groups_most int, rows_most int, is_sweep boolean)
returns table (now_ms float8, admitted int, next_ms float8, is_start boolean, is_end boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_mergejoin = off set jit = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set lock_timeout = '1s'
as $f$
declare
  now_at timestamptz;
  a admission;
  one runs;
  g_def text[];
  g_workspace text[];
  g_key text[];
  g_priority int[];
  g_fresh boolean[];
  picked uuid[];
  just int;
  last int;
begin
  insert into admission as x values (true, 1, '', '', '', -1, false) on conflict (is_only) do update set calls = x.calls + 1 returning * into a;
  now_at := clock_v1();
  admitted := 0;
  is_start := a.after_def = '';

  -- What somebody with another build may take up again.
  for one in select r.* from runs r where r.owner is null and r.asks_at <= now_at and r.asks_at is not null and r.stop is null and r.diverged_builds is not null
      and is_takeable_v1(r, now_at) order by r.asks_at limit 20 loop
    if room_v1(one) > 0 then
      update runs r set slot = true, due_at = r.asks_at, asks_at = null, updated_at = now_at
        where r.uid = one.uid and r.owner is null and r.asks_at is not null and coalesce(r.stop, '') = '';
      get diagnostics just = row_count;
      admitted := admitted + just;
    end if;
  end loop;

  with recursive g (def, workspace, key, priority, fresh) as (
    (select r.def, r.limit_workspace, r.limit_key, r.priority, r.epoch = 0 from runs r
      where r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null
        and (r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0)) > (a.after_def, a.after_workspace, a.after_key, a.after_priority, a.after_fresh)
      order by r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0) limit 1)
    union all
    select n.* from g cross join lateral (
      select r.def, r.limit_workspace, r.limit_key, r.priority, r.epoch = 0 from runs r
        where r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null
          and (r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0)) > (g.def, g.workspace, g.key, g.priority, g.fresh)
        order by r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0) limit 1) n)
  select array_agg(g.def), array_agg(g.workspace), array_agg(g.key), array_agg(g.priority), array_agg(g.fresh)
    into g_def, g_workspace, g_key, g_priority, g_fresh from (select * from g limit groups_most) g;
  last := coalesce(cardinality(g_def), 0);
  is_end := last < groups_most;
  if is_end and not is_start then
    update admission set after_def = '', after_workspace = '', after_key = '', after_priority = -1, after_fresh = false;
  elsif not is_end then
    update admission set after_def = g_def[last], after_workspace = g_workspace[last], after_key = g_key[last],
      after_priority = g_priority[last], after_fresh = g_fresh[last];
  end if;

  -- A slot in vain: nobody who lives has the code. Ten seconds, because a worker may just be joining.
  if is_sweep and last > 0 then
    update runs r set slot = false, asks_at = now_at, due_at = null
      where r.def = any (g_def) and r.slot and r.owner is null and r.stop is null and r.due_at <= now_at
        and r.updated_at < now_at - interval '10 seconds' and not is_takeable_v1(r, now_at);
  end if;

  while last > 0 and admitted < rows_most loop
    with g as (
      select g.*, l.concurrency, l.per_workspace, l.per_key, l.rate_runs, l.key_rate_runs, l.rate_ms, l.key_rate_ms
        from unnest(g_def, g_workspace, g_key, g_priority, g_fresh) g (def, workspace, key, priority, fresh)
        left join lateral (select l.* from limits l where l.def = g.def limit 1) l on true),
    d as materialized (
      select x.def, x.concurrency - (select count(*) from runs r where r.def = x.def and r.slot) as free,
          x.rate_runs - (select count(*) from rates t cross join lateral unnest(t.times) u (at)
            where t.def = x.def and t.key = '' and u.at > now_at - x.rate_ms * interval '1 millisecond') as tokens
        from (select distinct g.def, g.concurrency, g.rate_runs, g.rate_ms from g) x),
    w as materialized (
      select x.workspace, (select count(*) from runs r where r.limit_workspace = x.workspace and r.slot) as used
        from (select distinct g.workspace from g where g.workspace <> '') x),
    k as materialized (
      select x.def, x.key, (select count(*) from runs r where r.def = x.def and r.limit_key = x.key and r.slot) as used,
          x.key_rate_runs - (select count(*) from rates t cross join lateral unnest(t.times) u (at)
            where t.def = x.def and t.key = x.key and u.at > now_at - x.key_rate_ms * interval '1 millisecond') as tokens
        from (select distinct g.def, g.key, g.key_rate_runs, g.key_rate_ms from g where g.key <> '') x),
    f as (
      select g.*, coalesce(d.free, rows_most) as free, coalesce(g.per_workspace - w.used, rows_most) as free_workspace,
          coalesce(g.per_key - k.used, rows_most) as free_key,
          case when g.fresh then coalesce(d.tokens, rows_most) else rows_most end as tokens,
          case when g.fresh then coalesce(k.tokens, rows_most) else rows_most end as tokens_key,
          coalesce(k.used, w.used, 0) as held,
          case when g.key <> '' then g.def || E'\\x1f' || g.key else g.workspace end as whose
        from g join d on d.def = g.def left join w on w.workspace = g.workspace left join k on k.def = g.def and k.key = g.key),
    c as (
      select f.*, r.uid, r.asks_at
        from (select f.*, least(f.free, f.free_workspace, f.free_key, f.tokens, f.tokens_key, rows_most) as most from f) f
        cross join lateral (
          select r.uid, r.asks_at from runs r
            where r.def = f.def and r.limit_workspace = f.workspace and r.limit_key = f.key and r.priority = f.priority and (r.epoch = 0) = f.fresh
              and r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null and r.asks_at <= now_at
            order by r.asks_at, r.uid limit f.most) r
        where f.most > 0),
    o as (
      select c.*, c.held + row_number() over (partition by c.whose order by c.priority desc, c.asks_at, c.uid) as turn from c),
    n as (
      select o.*, row_number() over (partition by o.def order by o.priority desc, o.turn, o.asks_at, o.uid) as place,
          row_number() over (partition by o.workspace order by o.priority desc, o.turn, o.asks_at, o.uid) as place_workspace,
          row_number() over (partition by o.def, o.key order by o.priority desc, o.turn, o.asks_at, o.uid) as place_key
        from o)
    select array_agg(n.uid) into picked from n
      where n.place <= least(n.free, n.tokens) and (n.workspace = '' or n.place_workspace <= n.free_workspace)
        and (n.key = '' or n.place_key <= least(n.free_key, n.tokens_key)) and n.place <= rows_most;
    exit when picked is null;

    with u as (
      update runs r set due_at = r.asks_at, asks_at = null, updated_at = now_at,
          slot = case when l.is_counted then true end,
          limit_workspace = case when l.is_counted then r.limit_workspace end,
          limit_key = case when l.is_counted then r.limit_key end
        from (
          select p.uid, p.old_key, l.rate_ms, l.rate_runs, l.key_rate_ms, l.key_rate_runs,
              coalesce(l.concurrency, l.per_workspace, l.per_key) is not null as is_counted
            from (select r.uid, r.def, r.limit_key as old_key from unnest(picked) p (uid) cross join lateral (
              select r.uid, r.def, r.limit_key from runs r where r.uid = p.uid limit 1) r) p
            left join lateral (select l.* from limits l where l.def = p.def limit 1) l on true) l
        -- \`stop\` is so compared that no index but the primary key fits: else all that ask may be read for it.
        where r.uid = l.uid and r.owner is null and r.asks_at <= now_at and coalesce(r.stop, '') = '' and r.slot is false
        returning r.def, r.epoch, l.old_key, l.rate_ms, l.rate_runs, l.key_rate_ms, l.key_rate_runs),
    t as (
      insert into rates as t (def, key, times)
        select x.def, x.key, array_agg(now_at) from (
            select u.def, '' as key from u where u.epoch = 0 and u.rate_runs is not null
            union all
            select u.def, u.old_key from u where u.epoch = 0 and u.key_rate_runs is not null and u.old_key <> '') x
          group by x.def, x.key
        on conflict (def, key) do update set times = array(
          select n.at from unnest(t.times || excluded.times) n (at)
            where n.at > now_at - (
              select case when t.key = '' then l.rate_ms else l.key_rate_ms end from limits l where l.def = t.def) * interval '1 millisecond' order by n.at))
    select count(*) into just from u;
    admitted := admitted + just;
    exit when just = 0;
  end loop;

  -- Who asks later; and, where a rate is used up, when it is not.
  select ms_v1(min(x.at)) into next_ms from (
    select r.asks_at as at from unnest(g_def, g_workspace, g_key, g_priority, g_fresh) g (def, workspace, key, priority, fresh) cross join lateral (
      select r.asks_at from runs r
        where r.def = g.def and r.limit_workspace = g.workspace and r.limit_key = g.key and r.priority = g.priority and (r.epoch = 0) = g.fresh
          and r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null and r.asks_at > now_at
        order by r.asks_at limit 1) r
    union all
    select t.times[cardinality(t.times) - least(v.runs, cardinality(t.times)) + 1] + v.ms * interval '1 millisecond'
      from (select distinct g.def, g.key from unnest(g_def, g_key, g_fresh) g (def, key, fresh) where g.fresh) g
      cross join lateral (select l.* from limits l where l.def = g.def limit 1) l
      cross join lateral (values ('', l.rate_runs, l.rate_ms), (nullif(g.key, ''), l.key_rate_runs, l.key_rate_ms)) v (key, runs, ms)
      cross join lateral (select t.times from rates t where t.def = g.def and t.key = v.key limit 1) t
      where v.runs is not null) x
    where x.at > now_at;
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- The commit call (0002), with what a turn does about its slot (\`t_keep\`: it keeps it while it waits) and where starts are counted
-- (\`s_limit_…\`, packed; '' is no start with limits). \`is_asking\`: a slot was asked for, or given back.
create function @schema@.commit_v2(
  by_id uuid, by_build text, by_names text, by_versions text, resent boolean, feed_asked boolean, feed_into bigint,
  in_xact text, mailbox_max int, suspect_from int,
  t_uid uuid[], t_owner uuid[], t_epoch int[], t_seq int[], t_count int[], t_taken int[], t_seen int[], t_mail int[],
  t_outcome boolean[], t_before float8[], t_due float8[], t_next text[], t_word text[], t_stop text[], t_undo int[], t_plain boolean[], t_build text, t_state text,
  e_turn int[], e_no int[], e_occurrence int[], e_attempt int[], e_at float8[], e_kind text[], e_name text, e_meta text, e_payload text,
  k_turn int[], k_no int[],
  s_turn int[], s_uid uuid[], s_claim boolean[], s_priority int[], s_delay float8[], s_timeout float8[], s_parent uuid[],
  s_parent_id text, s_workspace text, s_id text, s_def text, s_version text, s_tags text, s_meta text, s_input text,
  m_turn int[], m_to uuid[], m_claim boolean[], m_kind text[], m_workspace text, m_run text, m_id text, m_name text, m_meta text, m_payload text,
  t_waits text, t_events text, t_documents text, t_answers text,
  t_keep boolean[], s_limit_workspace text, s_limit_key text
) returns table (now_ms float8, feed_row text, silent int, answers text, claimed text, is_asking boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set lock_timeout = '100ms'
as $f$
declare
  turn_count constant int := cardinality(t_uid);
  start_count constant int := cardinality(s_uid);
  mail_count constant int := cardinality(m_turn);
  now_at timestamptz := clock_v1();
  names constant text[] := texts_v1(by_names);
  versions constant text[] := texts_v1(by_versions);
  builds constant text[] := texts_v1(t_build);
  applied int[] := array_fill(0, array[turn_count]);  -- per turn: the phase that applied it, else 0
  applied_count int := 0;
  just int[];           -- the turns applied in this phase
  touched int[];        -- those of them that changed the row of their run
  is_whole boolean;     -- all turns were applied in this phase: no need to look each entry's turn up
  turn_answers text;
  spans text;           -- what was appended, for the feed
  part text;
  part_spans text;
  starts_picked int;
  stored uuid[];        -- the starts that this call has inserted in this phase
  wanted uuid[];
  locked uuid[] := '{}';
  skipped uuid[] := '{}';
  fates text[];         -- per message: new, known, busy, none, RUN_NOT_FOUND, RUN_FINISHED, MAILBOX_FULL
  numbers int[];
  known_numbers int[];
  at_turn int;
  part_silent int;
  part_asking boolean;
  plan_mode text;
begin
  silent := 0;
  is_asking := false;
  if in_xact is not null and in_xact is distinct from pg_current_xact_id_if_assigned()::text then
    raise exception 'the transaction was ended by other means' using errcode = 'PD001';
  end if;

  for phase in 1..2 loop
    if phase = 2 then
      exit when mail_count = 0;
      -- The rows of others, and of the turns that have messages. From here on nothing waits (C1).
      plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
      if 0 = any (m_turn) then
        select array_agg(coalesce(m.target, r.uid) order by m.i) into m_to
          from unnest(m_to, texts_v1(m_workspace), texts_v1(m_run)) with ordinality m (target, workspace, id, i)
          left join lateral (select r.uid from runs r where r.workspace = m.workspace and r.id = m.id limit 1) r on m.target is null;
      end if;
      plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
      wanted := array(select u from unnest(m_to) u where u is not null
        union select t.uid from unnest(t_uid, t_mail) t (uid, mail) where t.mail = 1);
      locked := array(select r.uid from runs r where r.uid = any (wanted) for no key update skip locked);
      if cardinality(locked) < cardinality(wanted) then
        skipped := array(select r.uid from runs r where r.uid = any (wanted) and r.uid <> all (locked));
      end if;
      if cardinality(skipped) > 0 then
        for at_turn in select t.i from unnest(t_uid, t_mail) with ordinality t (uid, mail, i)
            where t.mail = 1 and (t.uid = any (skipped)
              or exists (select 1 from unnest(m_turn, m_to) m (turn, target) where m.turn = t.i and m.target = any (skipped))) loop
          t_mail[at_turn] := 2;
          answers := nullif(concat_ws(E'\\x1e', answers, concat_ws(E'\\x1f', 't', at_turn, 'busy')), '');
        end loop;
      end if;
      -- The clock again: a message is accepted after its run's row was locked, so times follow numbers.
      now_at := clock_v1();
    end if;

    -- Turns. Park compares the counter on the row itself, so a message that came first is seen, whatever the snapshot.
    just := '{}';
    if phase = 1 and true = any (t_plain) then
      perform 1 from workers w where w.id = by_id for key share;
      if found then
        select coalesce(array_agg(d.i), '{}'),
            string_agg(concat_ws(E'\\x1f', 't', d.i, 'done', r.inbox, coalesce(r.stop, ''), 0), E'\\x1e') filter (where r.inbox > 0 or r.stop is not null),
            count(*) filter (where r.inbox = 0 and r.stop is null),
            string_agg(concat(d.uid, ':', d.seq + 1, ':', d.seq + d.count), ',') filter (where feed_asked)
          into just, turn_answers, silent, spans
          from unnest(t_uid, t_epoch, t_seq, t_count, t_outcome, t_plain) with ordinality d (uid, epoch, seq, count, outcome, plain, i)
          cross join lateral (
            select r.inbox, r.stop from runs r
              where r.uid = d.uid and r.owner is not distinct from by_id and r.epoch = d.epoch and r.seq <= d.seq
                and d.seq = (select j.seq from journal j where j.uid = d.uid order by j.seq desc limit 1)
                and (r.crashes = 0 or not d.outcome) limit 1) r
          where d.plain;
        foreach at_turn in array just loop applied[at_turn] := phase; end loop;
      end if;
    end if;
    if (phase = 1 and cardinality(just) < turn_count) or (phase = 2 and 1 = any (t_mail)) then
      with u as (
        update runs r set
            seq = d.seq + d.count,
            updated_at = now_at,
            taken = r.taken + coalesce(d.taken, 0),
            crashes = case when d.outcome then 0 else r.crashes end,
            owner = case when d.next = 'go' then r.owner end,
            -- A1: who waits gives its slot back, and asks for one when it goes on. What is to be cancelled needs none.
            slot = case
              when d.next = 'go' or r.slot is null then r.slot
              when d.next = 'end' or r.stop = 'pause' then false
              when d.next = 'park' then r.slot and coalesce(d.keep, false)
              else r.slot end,
            asks_at = case
              when d.next = 'go' or d.next = 'end' or r.stop is not null or r.slot is null then null
              when r.slot and (d.next = 'release' or coalesce(d.keep, false)) then null
              when d.next = 'release' or r.inbox > d.seen or d.build is not null then now_at
              else instant_v1(d.due) end,
            due_at = case
              when d.next = 'go' or d.next = 'end' or r.stop = 'pause' then null
              when r.slot is not null and r.stop is null and not (r.slot and (d.next = 'release' or coalesce(d.keep, false))) then null
              when d.next = 'release' or (r.stop = 'cancel' and d.stop_seen is distinct from 'cancel') or r.inbox > d.seen or d.build is not null then now_at
              else instant_v1(d.due) end,
            status = case
              when d.next = 'go' then r.status
              when d.next = 'end' then d.word
              when d.next = 'release' and d.seq + d.count = 1 and r.stop is distinct from 'pause' then 'pending'
              else 'waiting' end,
            reason = case
              when d.next = 'go' or d.next = 'end' then null
              when r.stop = 'pause' then 'paused'
              when d.next = 'park' then d.word end,
            finished_at = case when d.next = 'end' then now_at end,
            undo_open = coalesce(d.undo, r.undo_open),
            diverged_builds = case when d.build is null then r.diverged_builds
              else (array[d.build] || array_remove(r.diverged_builds, d.build))[1:8] end
          from unnest(t_uid, t_owner, t_epoch, t_seq, t_count, t_taken, t_seen, t_mail, t_outcome, t_before, t_due, t_next, t_word, t_stop, t_undo, builds, t_keep)
            with ordinality d (uid, owner, epoch, seq, count, taken, seen, mail, outcome, before, due, next, word, stop_seen, undo, build, keep, i)
          where coalesce(d.mail, 0) = phase - 1 and applied[d.i] = 0
            and r.uid = d.uid and r.owner is not distinct from coalesce(d.owner, by_id) and r.epoch = d.epoch and r.seq <= d.seq
            and d.seq = (select j.seq from journal j where j.uid = d.uid order by j.seq desc limit 1)
            and (d.before is null or instant_v1(d.before) <= now_at)
            and (d.next <> 'end' or r.stop is null or r.stop is not distinct from d.stop_seen)
          returning d.i, d.count, r.uid, r.seq, r.inbox, r.stop, r.slot is not null and d.next <> 'go' as is_asking)
      select coalesce(array_agg(u.i), '{}'),
          string_agg(concat_ws(E'\\x1f', 't', u.i, 'done', u.inbox, coalesce(u.stop, ''), 0), E'\\x1e') filter (where u.inbox > 0 or u.stop is not null),
          count(*) filter (where u.inbox = 0 and u.stop is null),
          string_agg(concat(u.uid, ':', u.seq - u.count + 1, ':', u.seq), ',') filter (where feed_asked and u.count > 0),
          coalesce(bool_or(u.is_asking), false)
        into touched, part, part_silent, part_spans, part_asking from u;
      is_asking := is_asking or part_asking;
      foreach at_turn in array touched loop applied[at_turn] := phase; end loop;
      just := just || touched;
      silent := silent + part_silent;
      turn_answers := nullif(concat_ws(E'\\x1e', turn_answers, part), '');
      spans := nullif(concat_ws(',', spans, part_spans), '');
    end if;

    if cardinality(just) > 0 then
      applied_count := applied_count + cardinality(just);
      is_whole := cardinality(just) = turn_count;
      insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
        select t_uid[e.turn], t_seq[e.turn] + e.no, t_epoch[e.turn], instant_v1(e.at), e.occurrence, e.attempt, e.kind, e.name, e.meta, e.payload
          from unnest(e_turn, e_no, e_occurrence, e_attempt, e_at, e_kind, texts_v1(e_name), texts_v1(e_meta), texts_v1(e_payload))
            e (turn, no, occurrence, attempt, at, kind, name, meta, payload)
          where is_whole or applied[e.turn] = phase;
      if t_state <> '' then
        insert into states (uid, place, error, state)
          select t.uid, nullif(split_part(t.shown, E'\\x1c', 1), ''), nullif(split_part(t.shown, E'\\x1c', 2), ''), nullif(split_part(t.shown, E'\\x1c', 3), '')
            from unnest(t_uid, texts_v1(t_state)) with ordinality t (uid, shown, i)
            where t.shown is not null and (is_whole or applied[t.i] = phase)
          on conflict (uid) do update set
            place = coalesce(excluded.place, states.place),
            error = case when excluded.place is null then states.error else excluded.error end,
            state = coalesce(excluded.state, states.state);
      end if;
      if cardinality(k_turn) > 0 then
        plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
        update messages m set taken_seq = case when k.no > 0 then t_seq[k.turn] + t_count[k.turn] else 0 end, payload = null
          from unnest(k_turn, k_no) k (turn, no)
          where applied[k.turn] = phase and m.uid = t_uid[k.turn] and m.no = abs(k.no);
        plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
      end if;
    end if;

    -- Starts: the children of the turns just applied (their ids are their uids: they never wait), and in phase 1
    -- those of callers, in order of their ids.
    if start_count > 0 then
      with s as (
        select * from unnest(s_turn, s_uid, s_claim, s_priority, s_delay, s_timeout, s_parent, texts_v1(s_parent_id), texts_v1(s_workspace),
            texts_v1(s_id), texts_v1(s_def), texts_v1(s_version), texts_v1(s_tags), texts_v1(s_limit_workspace), texts_v1(s_limit_key))
            with ordinality s (turn, uid, claim, priority, delay, timeout, parent, parent_id, workspace, id, def, version, tags, limit_workspace, limit_key, i)
          where (s.turn = 0 and phase = 1) or applied[s.turn] = phase),
      n as (
        insert into runs (uid, owner, due_at, created_at, updated_at, started_at, deadline_at, epoch, seq, priority, status,
            workspace, id, def, version, parent_uid, parent_id, tags, slot, asks_at, limit_workspace, limit_key)
          select s.uid, case when s.claim then by_id end,
              case when not s.claim and s.limit_workspace is null then now_at + s.delay * interval '1 millisecond' end, now_at, now_at, case when s.claim then now_at end,
              now_at + (s.delay + s.timeout) * interval '1 millisecond', case when s.claim then 1 else 0 end, 1, s.priority,
              case when s.claim then 'running' else 'pending' end, s.workspace, s.id, s.def,
              coalesce(s.version, case when s.claim then versions[array_position(names, s.def)] end), s.parent, s.parent_id, s.tags,
              case when s.limit_workspace is not null then false end,
              case when s.limit_workspace is not null then now_at + s.delay * interval '1 millisecond' end, s.limit_workspace, s.limit_key
            from s order by s.workspace collate "C", s.id collate "C", s.i
            on conflict do nothing
            returning uid)
      select (select count(*) from s), (select coalesce(array_agg(n.uid), '{}') from n), (select string_agg(concat(n.uid, ':1:1'), ',') from n where feed_asked)
        into starts_picked, stored, part_spans;
      if starts_picked > 0 then
        is_asking := is_asking or s_limit_workspace <> '';
        -- New rows are ours: a message to a child of the same delta finds it.
        if phase = 2 then
          locked := locked || array(select s.uid from unnest(s_turn, s_uid) s (turn, uid) where applied[s.turn] = phase);
        end if;
        spans := nullif(concat_ws(',', spans, part_spans), '');
        is_whole := cardinality(stored) = starts_picked;
        insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
          select s.uid, 1, case when s.claim then 1 else 0 end, now_at, 0, 0, 'run.created', '', s.meta, s.input
            from unnest(s_turn, s_uid, s_claim, texts_v1(s_meta), texts_v1(s_input)) s (turn, uid, claim, meta, input)
            where ((s.turn = 0 and phase = 1) or applied[s.turn] = phase)
              and (is_whole or exists (select 1 from runs r where r.uid = s.uid))
            on conflict do nothing;
        -- A later statement than the insert: only now those are visible that it met. Our own uid is our own start,
        -- and \`done\` says that an earlier sending has stored it.
        if phase = 1 and not is_whole then
          plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
          select string_agg(case when r.uid = s.uid then concat_ws(E'\\x1f', 's', s.i, 'done') else
              concat_ws(E'\\x1f', 's', s.i, 'exists', r.uid, r.def, (r.def = s.def and j.payload is not distinct from s.input)::int) end, E'\\x1e'),
              string_agg(s.id, ', ') filter (where r.uid is null)
            into part, part_spans
            from unnest(s_turn, s_uid, texts_v1(s_workspace), texts_v1(s_id), texts_v1(s_def), texts_v1(s_input))
              with ordinality s (turn, uid, workspace, id, def, input, i)
            left join lateral (select r.uid, r.def from runs r where r.workspace = s.workspace and r.id = s.id limit 1) r on true
            left join lateral (select j.payload from journal j where j.uid = r.uid and j.seq = 1 limit 1) j on true
            where s.turn = 0 and (r.uid is distinct from s.uid or s.uid <> all (stored));
          plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
          if part_spans is not null then
            raise exception 'the uid of % is taken', part_spans using errcode = '23505';
          end if;
          answers := nullif(concat_ws(E'\\x1e', answers, part), '');
        end if;
      end if;
    end if;
  end loop;

  if t_waits is not null or t_events is not null then
    perform listen_v1(t_uid, applied, t_waits, t_events, now_at);
  end if;
  if t_documents is not null or t_answers is not null then
    perform leave_behind_v1(t_uid, t_seq, applied, t_documents, t_answers);
  end if;

  -- Mail. Known ids come first (they change nothing, whatever became of the run), then the state of the run, then the
  -- limit, which is for callers' signals only: a cancel and a child's result must not be lost.
  if mail_count > 0 then
    plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
    select array_agg(k.no order by m.i) into known_numbers
      from unnest(m_to, texts_v1(m_id)) with ordinality m (target, id, i)
      left join lateral (select k.no from messages k where k.uid = m.target and k.id = m.id limit 1) k on true;
    plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);

    with m as (
      select m.i, m.turn, m.target, m.id, m.kind, m.is_live, r.uid, r.finished_at, r.inbox, r.taken, m.known,
          m.target = any (skipped) as is_skipped, row_number() over (partition by m.is_live, m.target, m.id order by m.i) as copy
        from (
          select m.*, m.turn = 0 or applied[m.turn] = 2 as is_live, m.target = any (locked) as is_locked
            from unnest(m_turn, m_to, texts_v1(m_id), m_kind, known_numbers) with ordinality m (turn, target, id, kind, known, i)) m
        left join lateral (select r.uid, r.finished_at, r.inbox, r.taken from runs r where r.uid = m.target limit 1) r on m.is_locked),
    placed as (
      select m.*, row_number() over (partition by m.target, m.is_live and m.known is null and m.copy = 1 order by m.i) as place from m),
    judged as (
      select p.*, case
          when not p.is_live then 'none'
          when p.is_skipped then 'busy'
          when p.uid is null then 'RUN_NOT_FOUND'
          when p.known is not null then 'known'
          when p.finished_at is not null then 'RUN_FINISHED'
          when p.copy > 1 then 'copy'
          when p.turn = 0 and p.kind in ('signal', 'trigger') and p.inbox - p.taken + p.place > mailbox_max then 'MAILBOX_FULL'
          else 'new' end as fate
        from placed p),
    numbered as (
      select j.i, j.is_live, j.target, j.id, j.fate,
          coalesce(j.known, j.inbox + row_number() over (partition by j.target, j.fate order by j.i)) as no from judged j),
    settled as (
      select n.i, n.fate, first_value(n.fate) over w as first_fate, first_value(n.no) over w as no
        from numbered n window w as (partition by n.is_live, n.target, n.id order by n.i))
    select array_agg(case when s.fate <> 'copy' then s.fate when s.first_fate = 'new' then 'known' else s.first_fate end order by s.i),
        array_agg(coalesce(s.no, 0) order by s.i)
      into fates, numbers from settled s;

    insert into messages (uid, no, at, id, kind, name, meta, payload)
      select m.target, m.no, now_at, m.id, m.kind, m.name, m.meta, m.payload
        from unnest(m_to, numbers, fates, texts_v1(m_id), m_kind, texts_v1(m_name), texts_v1(m_meta), texts_v1(m_payload))
          m (target, no, fate, id, kind, name, meta, payload)
        where m.fate = 'new';

    -- Whoever makes a run runnable may take it in the same commit: \`take\`, written once for signals and cancels.
    if 'new' = any (fates) then
      with g as (
        select m.target, count(*)::int as count, bool_or(m.kind = 'cancel') as cancel,
            bool_or(m.kind = 'cancel' and m.name = 'force') as force, bool_or(m.claim) as claim
          from unnest(m_to, fates, m_kind, texts_v1(m_name), m_claim) m (target, fate, kind, name, claim) where m.fate = 'new' group by m.target),
      t as (
        select g.*, r.is_taken, r.version from g cross join lateral (
          select r.version, g.claim and r.owner is null and r.crashes < suspect_from
              and (g.cancel or r.stop is null or r.stop = 'cancel')
              and (((g.cancel or r.stop is not distinct from 'cancel') and (r.undo_open = 0 or g.force))
                or ((g.cancel or r.stop is not distinct from 'cancel' or ((r.status = 'waiting' or r.due_at <= now_at) and r.slot is not false))
                  and not (by_build = any (coalesce(r.diverged_builds, '{}')))
                  and exists (select 1 from unnest(names, versions) w (name, version)
                    where w.name = r.def and (r.version is null or w.version = r.version)))) as is_taken
            from runs r where r.uid = g.target limit 1) r),
      u as (
        update runs r set
            inbox = r.inbox + t.count,
            stop = case when t.cancel then 'cancel' else r.stop end,
            undo_open = case when t.force then 0 else r.undo_open end,
            due_at = case
              when t.is_taken or r.owner is not null then null
              when t.cancel or r.stop is not distinct from 'cancel' or (r.stop is null and r.status = 'waiting' and r.slot is not false)
                then least(r.due_at, now_at)
              else r.due_at end,
            asks_at = case when r.owner is null and r.stop is null and r.status = 'waiting' and r.slot is false then least(r.asks_at, now_at) else r.asks_at end,
            owner = case when t.is_taken then by_id else r.owner end,
            epoch = case when t.is_taken then r.epoch + 1 else r.epoch end,
            status = case when t.is_taken then 'running' else r.status end,
            reason = case when t.is_taken then null else r.reason end,
            started_at = case when t.is_taken then coalesce(r.started_at, now_at) else r.started_at end,
            updated_at = case when t.is_taken then now_at else r.updated_at end,
            version = case when t.is_taken then coalesce(r.version, versions[array_position(names, r.def)]) else r.version end
          from t where r.uid = t.target
          returning t.is_taken, r.slot is false as is_asking, claimed_v1(r, r.seq) as row)
      select string_agg(u.row, E'\\x1e') filter (where u.is_taken), coalesce(bool_or(u.is_asking), false) into claimed, part_asking from u;
      is_asking := is_asking or part_asking;
    end if;

    select string_agg(concat_ws(E'\\x1f', 'm', m.i, case when m.fate in ('new', 'known') then 'done' when m.fate = 'busy' then 'busy' else 'refused' end,
        coalesce(r.uid::text, ''), coalesce(r.inbox, 0), coalesce(r.stop, ''), m.no, m.fate, coalesce(r.status, '')), E'\\x1e')
      into part
      from unnest(m_turn, m_to, fates, numbers) with ordinality m (turn, target, fate, no, i)
      left join lateral (select r.uid, r.inbox, r.stop, r.status from runs r where r.uid = m.target limit 1) r on true
      where m.turn = 0;
    answers := nullif(concat_ws(E'\\x1e', answers, part), '');
    -- The turns' rows once more: mail of this batch may have come behind them.
    silent := 0;
    select string_agg(concat_ws(E'\\x1f', 't', t.i, 'done', r.inbox, coalesce(r.stop, ''), 0), E'\\x1e') into turn_answers
      from unnest(t_uid, applied) with ordinality t (uid, phase, i)
      cross join lateral (select r.inbox, r.stop from runs r where r.uid = t.uid limit 1) r
      where t.phase > 0;
  end if;

  -- What the fence did not let through. Our own epoch at the last seq: an earlier sending has stored it (C5).
  if applied_count < turn_count then
    select string_agg(concat_ws(E'\\x1f', 't', t.i, case
          when resent and t.count > 0 and j.epoch = t.epoch then 'done'
          when l.seq = t.seq and r.epoch = t.epoch and r.owner is not distinct from coalesce(t.owner, by_id) then case
            when instant_v1(t.before) > now_at then 'early'
            when t.next = 'end' and r.stop is not null and r.stop is distinct from t.stop_seen then 'stopping'
            else 'busy' end
          when resent and t.count = 0 then 'done'
          else 'stale' end, coalesce(r.inbox, 0), coalesce(r.stop, ''), 1), E'\\x1e')
      into part
      from unnest(t_uid, t_owner, t_epoch, t_seq, t_count, t_mail, t_before, t_next, t_stop, applied)
        with ordinality t (uid, owner, epoch, seq, count, mail, before, next, stop_seen, phase, i)
      left join lateral (select r.owner, r.epoch, r.inbox, r.stop from runs r where r.uid = t.uid limit 1) r on true
      left join lateral (select j.seq from journal j where j.uid = t.uid order by j.seq desc limit 1) l on true
      left join lateral (select j.epoch from journal j where j.uid = t.uid and j.seq = t.seq + t.count limit 1) j on true
      where t.phase = 0 and coalesce(t.mail, 0) < 2;
    answers := nullif(concat_ws(E'\\x1e', answers, part), '');
  end if;

  if spans is not null then
    if feed_into is null then
      insert into feed (worker, pending, at, ranges) values (by_id, true, now_at, spans) returning id::text into feed_row;
    else
      update feed f set ranges = concat_ws(',', f.ranges, spans) where f.id = feed_into returning f.id::text into feed_row;
    end if;
  end if;

  answers := nullif(concat_ws(E'\\x1e', turn_answers, answers), '');
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- For processes that do not know of limits yet.
create or replace function @schema@.commit_v1(
  by_id uuid, by_build text, by_names text, by_versions text, resent boolean, feed_asked boolean, feed_into bigint,
  in_xact text, mailbox_max int, suspect_from int,
  t_uid uuid[], t_owner uuid[], t_epoch int[], t_seq int[], t_count int[], t_taken int[], t_seen int[], t_mail int[],
  t_outcome boolean[], t_before float8[], t_due float8[], t_next text[], t_word text[], t_stop text[], t_undo int[], t_plain boolean[], t_build text, t_state text,
  e_turn int[], e_no int[], e_occurrence int[], e_attempt int[], e_at float8[], e_kind text[], e_name text, e_meta text, e_payload text,
  k_turn int[], k_no int[],
  s_turn int[], s_uid uuid[], s_claim boolean[], s_priority int[], s_delay float8[], s_timeout float8[], s_parent uuid[],
  s_parent_id text, s_workspace text, s_id text, s_def text, s_version text, s_tags text, s_meta text, s_input text,
  m_turn int[], m_to uuid[], m_claim boolean[], m_kind text[], m_workspace text, m_run text, m_id text, m_name text, m_meta text, m_payload text,
  t_waits text, t_events text, t_documents text, t_answers text
) returns table (now_ms float8, feed_row text, silent int, answers text, claimed text)
language sql
as $f$
  select c.now_ms, c.feed_row, c.silent, c.answers, c.claimed from @schema@.commit_v2(
    by_id, by_build, by_names, by_versions, resent, feed_asked, feed_into, in_xact, mailbox_max, suspect_from, t_uid, t_owner,
    t_epoch, t_seq, t_count, t_taken, t_seen, t_mail, t_outcome, t_before, t_due, t_next, t_word, t_stop, t_undo, t_plain,
    t_build, t_state, e_turn, e_no, e_occurrence, e_attempt, e_at, e_kind, e_name, e_meta, e_payload, k_turn, k_no, s_turn,
    s_uid, s_claim, s_priority, s_delay, s_timeout, s_parent, s_parent_id, s_workspace, s_id, s_def, s_version, s_tags, s_meta,
    s_input, m_turn, m_to, m_claim, m_kind, m_workspace, m_run, m_id, m_name, m_meta, m_payload, t_waits, t_events, t_documents,
    t_answers, null, '', '') c
$f$;

-- One start (0004), with where it is counted: null, nowhere.
create function @schema@.start_v2(
  s_uid uuid, s_priority int, s_delay float8, s_timeout float8, s_workspace text, s_id text, s_def text, s_version text, s_tags text,
  s_meta text, s_input text, m_id text, m_name text, m_payload text, is_within boolean, s_limit_workspace text, s_limit_key text
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan
as $f$
begin
  return query select * from start_v1(
    s_uid, s_priority, s_delay, s_timeout, s_workspace, s_id, s_def, s_version, s_tags, s_meta, s_input, m_id, m_name, m_payload, is_within);
  if s_limit_workspace is not null then
    -- Nobody has seen it yet: it is of this transaction.
    update runs r set slot = false, asks_at = r.due_at, due_at = null, limit_workspace = s_limit_workspace, limit_key = s_limit_key
      where r.uid = s_uid and r.slot is null and r.epoch = 0 and r.owner is null and r.due_at is not null;
  end if;
end $f$;

-- As before (0003, 0004), and a run without a slot asks for one instead of being due.

create or replace function @schema@.free_v1(owners uuid[], crashed int) returns int
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
  freed int;
begin
  with l as materialized (
    select r.uid from runs r where r.owner = any (owners) limit 1000 for no key update skip locked)
  update runs r set owner = null, seq = greatest(r.seq, j.seq), crashes = r.crashes + crashed, updated_at = now_at,
      due_at = case when r.stop is distinct from 'pause' and (r.slot is distinct from false or r.stop = 'cancel') then now_at end,
      asks_at = case when r.slot is false and r.stop is null then now_at end,
      slot = case when r.slot and r.stop = 'pause' then false else r.slot end,
      status = case when greatest(r.seq, j.seq) = 1 and r.stop is distinct from 'pause' then 'pending' else 'waiting' end,
      reason = case when r.stop = 'pause' then 'paused' end
    from l cross join lateral (select j.seq from journal j where j.uid = l.uid order by j.seq desc limit 1) j
    where r.uid = l.uid;
  get diagnostics freed = row_count;
  return freed;
end $f$;

create or replace function @schema@.reopen_v1(
  r_uid uuid[], r_attempt int[], r_due boolean[], e_at float8[], e_kind text[], e_occurrence int[], e_attempt int[], e_name text, e_meta text, e_payload text
) returns boolean
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  matching int;
  now_at timestamptz;
begin
  select count(*) into matching from unnest(r_uid, r_attempt) c (uid, attempt) cross join lateral (
    select 1 from runs r where r.uid = c.uid and r.attempt = c.attempt and r.status = 'failed' for no key update) r;
  if matching < cardinality(r_uid) then
    return false;
  end if;
  now_at := clock_v1();
  insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
    select e.uid, r.seq + 1, r.epoch, instant_v1(e.at), e.occurrence, e.attempt, e.kind, e.name, e.meta, e.payload
      from unnest(r_uid, e_at, e_kind, e_occurrence, e_attempt, texts_v1(e_name), texts_v1(e_meta), texts_v1(e_payload))
        e (uid, at, kind, occurrence, attempt, name, meta, payload)
      cross join lateral (select r.seq, r.epoch from runs r where r.uid = e.uid limit 1) r;
  update runs r set seq = r.seq + 1, attempt = r.attempt + 1, crashes = 0, status = 'waiting', reason = case when c.due then null else 'child' end,
      finished_at = null, updated_at = now_at, due_at = case when c.due and r.slot is null then now_at end,
      asks_at = case when c.due and r.slot is not null then now_at end,
      deadline_at = case when r.deadline_at <= now_at then null else r.deadline_at end
    from unnest(r_uid, r_due) c (uid, due) where r.uid = c.uid;
  return true;
end $f$;

create or replace function @schema@.pause_v1(of_workspace text, of_id text, is_paused boolean) returns table (uid text, refusal text, status text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  now_at timestamptz;
  r runs;
begin
  select * into r from runs where runs.workspace = of_workspace and runs.id = of_id for no key update;
  uid := r.uid::text;
  status := r.status;
  if r.uid is null then
    refusal := 'RUN_NOT_FOUND';
  elsif r.finished_at is not null then
    refusal := 'RUN_FINISHED';
  elsif r.stop = 'cancel' then
    refusal := 'RUN_FINISHED';
    status := 'being cancelled';
  elsif is_paused and r.stop is null then
    now_at := clock_v1();
    update runs set stop = 'pause', updated_at = now_at,
        status = case when r.owner is null then 'waiting' else r.status end,
        reason = case when r.owner is null then 'paused' end,
        slot = case when r.owner is null and r.slot then false else r.slot end,
        asks_at = case when r.owner is null and r.slot is not null then coalesce(r.asks_at, r.due_at) end,
        due_at = case when r.slot is null then r.due_at end
      where runs.uid = r.uid;
  elsif not is_paused and r.stop = 'pause' then
    now_at := clock_v1();
    update runs set stop = null, updated_at = now_at,
        due_at = case when r.owner is not null or r.slot is not null then null when r.epoch = 0 then coalesce(r.due_at, now_at) else now_at end,
        asks_at = case when r.owner is not null or r.slot is null then null when r.epoch = 0 then coalesce(r.asks_at, now_at) else now_at end,
        status = case when r.owner is not null then r.status when r.epoch = 0 then 'pending' else 'waiting' end,
        reason = case when r.owner is null and r.diverged_builds is not null then 'diverged' end
      where runs.uid = r.uid;
  end if;
  return next;
end $f$;

create or replace function @schema@.fork_v1(
  of_uid uuid, up_to int, f_uid uuid, f_id text, f_meta text, f_input text, o_seq int[], o_payload text, forgets int[]
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  now_at constant timestamptz := clock_v1();
begin
  insert into runs (uid, due_at, created_at, updated_at, started_at, deadline_at, epoch, seq, priority, status, workspace, id, def, version, tags,
      slot, asks_at, limit_workspace, limit_key)
    select f_uid, case when r.slot is null then now_at end, now_at, now_at, r.started_at, now_at + (r.deadline_at - r.created_at), 0, up_to, r.priority, 'pending',
        r.workspace, f_id, r.def, r.version, r.tags,
        case when r.slot is not null then false end, case when r.slot is not null then now_at end, r.limit_workspace, r.limit_key
      from runs r where r.uid = of_uid
    on conflict do nothing;
  if found then
    insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
      select f_uid, j.seq, 0, j.at, j.occurrence, j.attempt, j.kind, j.name,
          case when j.seq = 1 then f_meta
            when j.kind = 'message.taken' then (j.meta::jsonb - 'no')::text
            when j.kind in ('step.completed', 'child.ended')
              then ((coalesce(j.meta, '{}')::jsonb - 'no' - 'undoable') || '{"inherited": true}')::text
            when j.seq = any (forgets) then (j.meta::jsonb - 'uid')::text
            else j.meta end,
          case when j.seq = 1 then coalesce(f_input, j.payload) else coalesce(o.payload, j.payload) end
        from journal j left join unnest(o_seq, texts_v1(o_payload)) o (seq, payload) on o.seq = j.seq
        where j.uid = of_uid and j.seq <= up_to;
    insert into documents (uid, seq, no, until_seq, position_seq, position_no, hidden, id, type, key, tags, content)
      select f_uid, d.seq, d.no, case when d.until_seq <= up_to then d.until_seq end, d.position_seq, d.position_no, d.hidden, d.id, d.type,
          d.key, d.tags, d.content
        from documents d where d.uid = of_uid and d.seq <= up_to;
    kind := 'done';
    return next;
    return;
  end if;
  select case when t.uid = f_uid then 'done' else 'exists' end, t.uid::text, t.def,
      j.meta is not distinct from f_meta and j.payload is not distinct from coalesce(f_input, i.payload)
    into kind, uid, def, is_same
    from runs r join runs t on t.workspace = r.workspace and t.id = f_id
    join journal j on j.uid = t.uid and j.seq = 1
    join journal i on i.uid = r.uid and i.seq = 1
    where r.uid = of_uid;
  kind := coalesce(kind, 'gone');
  return next;
end $f$;

-- The run that starts with this key push back while it has never run.
create table @schema@.debounces (
  workspace text collate "C" not null,
  def text collate "C" not null,
  key text collate "C" not null,
  uid uuid not null,
  primary key (workspace, def, key)
);
create index debounces_run on @schema@.debounces (uid);

-- A start (start_v2) that pushes the last one with its key back by its own delay, with its own input, if that has never run. The row
-- of the key is the lock: of two at once one comes second. \`uid\` and \`id\`: the run it is.
create function @schema@.debounce_v1(
  d_key text, s_uid uuid, s_priority int, s_delay float8, s_timeout float8, s_workspace text, s_id text, s_def text, s_version text, s_tags text,
  s_meta text, s_input text, s_limit_workspace text, s_limit_key text
) returns table (kind text, uid text, def text, is_same boolean, id text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  now_at timestamptz;
  pushed runs;
begin
  insert into debounces as d (workspace, def, key, uid) values (s_workspace, s_def, d_key, s_uid)
    on conflict on constraint debounces_pkey do update set key = excluded.key;
  now_at := clock_v1();
  update runs r set updated_at = now_at, deadline_at = now_at + (s_delay + s_timeout) * interval '1 millisecond',
      due_at = case when s_limit_workspace is null then now_at + s_delay * interval '1 millisecond' end,
      asks_at = case when s_limit_workspace is not null then now_at + s_delay * interval '1 millisecond' end,
      slot = case when s_limit_workspace is not null then false end, limit_workspace = s_limit_workspace, limit_key = s_limit_key
    from debounces d
    where d.workspace = s_workspace and d.def = s_def and d.key = d_key and r.uid = d.uid
      and r.owner is null and r.epoch = 0 and r.seq = 1 and r.status = 'pending' and r.stop is null
    returning r.* into pushed;
  if pushed.uid is not null then
    update journal j set payload = s_input where j.uid = pushed.uid and j.seq = 1;
    return query select 'done'::text, pushed.uid::text, s_def, true, pushed.id;
    return;
  end if;
  return query select n.kind, coalesce(n.uid, s_uid::text), coalesce(n.def, s_def), n.is_same, s_id from start_v2(
    s_uid, s_priority, s_delay, s_timeout, s_workspace, s_id, s_def, s_version, s_tags, s_meta, s_input, null, null, null, false,
    s_limit_workspace, s_limit_key) n;
  update debounces d set uid = s_uid where d.workspace = s_workspace and d.def = s_def and d.key = d_key;
end $f$;

-- As before (0004), with what was added here.
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
    delete from waits w where w.uid = any (doomed);
    delete from debounces d where d.uid = any (doomed);
    pruned := cardinality(doomed);
    next_uid := case when pruned = most then doomed[pruned] when cardinality(seen) = look then seen[look] end;
  end if;
  return next;
end $f$;` },
  { number: 7, name: 'schedules', breaking: false, sql: `-- breaking: no
-- What starts runs by itself: schedules, and subscriptions to events.
--
-- H1. A slot is acted upon once: fire_v1 moves the row from its next slot to a later one in the transaction that inserts the
--     run, and whoever comes second finds another next slot. last_slot only moves forward, so that neither a crash nor the
--     deletion of old runs brings a slot back.
-- H2. A run that an event starts is inserted by the transaction that inserts the event, whoever emits it and by whichever way:
--     the event is not lost if nobody is there, and its second emission inserts neither.

-- \`spec\`, \`plan\`: JSON that only processes read; the same times are the same text. \`of\`: the definition whose trigger it is.
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

-- \`kind\`: see the port. The run is due and belongs to whichever version of its code is there.
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

-- \`match\`: keys that must be among those of the event.
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
create trigger events_start after insert on @schema@.events for each row execute function @schema@.start_subscribed_v1();` },
  { number: 8, name: 'definitions', breaking: false, sql: `-- breaking: no
-- Definitions that are stored and not code: graphs, with their versions.
--
-- D1. Versions of a name are 1..n without holes, append only. Whoever changes a definition locks the one row of definition_changes
--     first, so that revisions follow the order of the commits: who has seen a revision has seen all that is below it.
-- D2. What a version says of limits and triggers becomes rows in the transaction that makes it the current one.
-- D3. A run of a stored definition has '#' and the number as its version, which no code has: neither is taken for the other.
-- D4. A definition of a workspace is started in that one alone: by nothing that stands here with its version.

create table @schema@.definition_changes (
  is_only boolean primary key default true check (is_only),
  revision bigint not null
);
insert into @schema@.definition_changes (revision) values (0);

-- \`workspace\` null: for all of them. \`version\`: the current one.
create table @schema@.definitions (
  name text collate "C" primary key,
  workspace text collate "C",
  version int not null,
  revision bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz
);
create index definitions_workspace on @schema@.definitions (workspace, name);

create table @schema@.definition_versions (
  name text collate "C" not null,
  version int not null,
  created_at timestamptz not null,
  note text,
  json text not null,
  primary key (name, version)
);

-- Which versions unfinished runs are of.
create index runs_stored on @schema@.runs (def, version) where finished_at is null and left(version, 1) = '#';

-- \`expected\`: the version that must be the current one, 0: there is none yet; null: whatever it is. \`s_limits\`: as join_v2 is told, of
-- this definition. \`s_schedules\`, as JSON: [workspace, id, spec, plan, input, next slot, its moment]; \`s_events\`: as subscribe_v1.
-- \`kind\`: saved; same, it is the current version already; changed, another one is (\`version\`); taken, the name is another's; code, it
-- is that of code which a live worker has.
create function @schema@.save_definition_v1(
  s_name text, s_workspace text, s_json text, s_note text, expected int, s_limits text, s_schedules text, s_events text
) returns table (kind text, version int)
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  now_at constant timestamptz := clock_v1();
  h definitions;
  is_same boolean;
  changed bigint;
begin
  insert into definition_changes (revision) values (0) on conflict do nothing;
  perform 1 from definition_changes c for update;
  select * into h from definitions d where d.name = s_name;
  is_same := exists (select 1 from definition_versions v where v.name = s_name and v.version = h.version and v.json = s_json);
  version := h.version;
  if h.name is not null and h.workspace is distinct from s_workspace then
    kind := 'taken';
  elsif exists (
    select 1 from workers w cross join lateral json_array_elements_text(w.definitions::json) o (name)
      where w.lease_until > now_at and starts_with(o.name, s_name || '@') and not starts_with(o.name, s_name || '@#')) then
    kind := 'code';
  elsif expected <> coalesce(h.version, 0) and not (is_same and h.version = expected + 1) then
    -- Not if it is what they have asked for: an answer may have been lost.
    kind := 'changed';
  end if;
  if kind is not null then
    return next;
    return;
  end if;
  kind := case when is_same then 'same' else 'saved' end;
  if kind = 'saved' or h.archived_at is not null then
    update definition_changes c set revision = c.revision + 1 returning c.revision into changed;
    version := case when kind = 'saved' then coalesce(h.version, 0) + 1 else h.version end;
    insert into definitions as d (name, workspace, version, revision, created_at, updated_at)
      values (s_name, s_workspace, save_definition_v1.version, changed, now_at, now_at)
      on conflict (name) do update
        set version = excluded.version, revision = excluded.revision, updated_at = excluded.updated_at, archived_at = null;
  end if;
  if kind = 'saved' then
    insert into definition_versions (name, version, created_at, note, json)
      values (s_name, save_definition_v1.version, now_at, s_note, s_json);
  end if;
  insert into limits (def, concurrency, per_workspace, per_key, key_path, rate_runs, rate_ms, key_rate_runs, key_rate_ms)
    select n.one ->> 0, (n.one ->> 1)::int, (n.one ->> 2)::int, (n.one ->> 3)::int, n.one ->> 4,
        (n.one ->> 5)::int, (n.one ->> 6)::float8, (n.one ->> 7)::int, (n.one ->> 8)::float8
      from json_array_elements(s_limits::json) n (one)
    on conflict (def) do update set concurrency = excluded.concurrency, per_workspace = excluded.per_workspace, per_key = excluded.per_key,
      key_path = excluded.key_path, rate_runs = excluded.rate_runs, rate_ms = excluded.rate_ms,
      key_rate_runs = excluded.key_rate_runs, key_rate_ms = excluded.key_rate_ms;
  delete from schedules s where s.of_def = s_name and not exists (
    select 1 from json_array_elements(s_schedules::json) n (one) where n.one ->> 0 = s.workspace and n.one ->> 1 = s.id);
  insert into schedules as s (workspace, id, def, spec, plan, overlap, input, of_def, next_slot, next_at, created_at, updated_at)
    select n.one ->> 0, n.one ->> 1, s_name, n.one ->> 2, n.one ->> 3, 'allow', n.one ->> 4, s_name,
        instant_v1((n.one ->> 5)::float8), instant_v1((n.one ->> 6)::float8), now_at, now_at
      from json_array_elements(s_schedules::json) n (one)
    on conflict (workspace, id) do update
      set def = excluded.def, plan = excluded.plan, overlap = excluded.overlap, input = excluded.input, of_def = excluded.of_def,
        spec = excluded.spec, revision = s.revision + 1, updated_at = excluded.updated_at,
        next_slot = case when s.spec = excluded.spec then s.next_slot else excluded.next_slot end,
        next_at = case when s.spec = excluded.spec then s.next_at else excluded.next_at end
      where (s.def, s.plan, s.overlap, s.input, s.of_def, s.spec)
        is distinct from (excluded.def, excluded.plan, excluded.overlap, excluded.input, excluded.of_def, excluded.spec);
  perform subscribe_v1(E'\\x1f' || s_name, s_events);
  return next;
end $f$;

-- Nothing starts it any more: its triggers are gone, schedules that people have made are paused. Its limits stay: its runs go on. false: there is none in that workspace.
create function @schema@.archive_definition_v1(a_name text, a_workspace text) returns boolean
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  now_at constant timestamptz := clock_v1();
  h definitions;
begin
  insert into definition_changes (revision) values (0) on conflict do nothing;
  perform 1 from definition_changes c for update;
  select * into h from definitions d where d.name = a_name and d.workspace is not distinct from a_workspace;
  if h.name is null then
    return false;
  end if;
  if h.archived_at is null then
    update definition_changes c set revision = c.revision + 1;
    update definitions d set archived_at = now_at, updated_at = now_at, revision = (select c.revision from definition_changes c)
      where d.name = a_name;
    delete from schedules s where s.of_def = a_name;
    delete from subscriptions s where s.def = a_name;
    update schedules s set is_paused = true, next_slot = null, next_at = null, revision = s.revision + 1, updated_at = now_at
      where s.def = a_name and not s.is_paused;
  end if;
  return true;
end $f$;

-- One step per version that is in use, and not per run.
create function @schema@.used_definitions_v1() returns table (revision bigint, used text)
language plpgsql stable
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $f$
begin
  return query
    with recursive u (def, version) as (
      (select r.def, r.version from runs r where r.finished_at is null and left(r.version, 1) = '#' order by r.def, r.version limit 1)
      union all
      select n.def, n.version from u cross join lateral (
        select r.def, r.version from runs r
          where r.finished_at is null and left(r.version, 1) = '#' and (r.def, r.version) > (u.def, u.version)
          order by r.def, r.version limit 1) n)
    select coalesce((select c.revision from definition_changes c), 0), (select string_agg(u.def || u.version, ' ') from u);
end $f$;

-- As before (0006); a start that names no version of a stored definition gets the current one, if that is for its workspace.
create or replace function @schema@.start_v2(
  s_uid uuid, s_priority int, s_delay float8, s_timeout float8, s_workspace text, s_id text, s_def text, s_version text, s_tags text,
  s_meta text, s_input text, m_id text, m_name text, m_payload text, is_within boolean, s_limit_workspace text, s_limit_key text
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan
as $f$
begin
  return query select * from start_v1(
    s_uid, s_priority, s_delay, s_timeout, s_workspace, s_id, s_def,
    coalesce(s_version, (
      select '#' || d.version from definitions d
        where d.name = s_def and d.archived_at is null and (d.workspace is null or d.workspace = s_workspace))),
    s_tags, s_meta, s_input, m_id, m_name, m_payload, is_within);
  if s_limit_workspace is not null then
    -- Nobody has seen it yet: it is of this transaction.
    update runs r set slot = false, asks_at = r.due_at, due_at = null, limit_workspace = s_limit_workspace, limit_key = s_limit_key
      where r.uid = s_uid and r.slot is null and r.epoch = 0 and r.owner is null and r.due_at is not null;
  end if;
end $f$;

-- As before (0007), and without the definitions of other workspaces (D4).
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
      (select '' from limits l where l.def = s.def));
  end loop;
  return null;
end $f$;` },
  { number: 9, name: 'webhooks', breaking: false, sql: `-- breaking: no
-- Webhooks: addresses at which others start runs, and services that are told how runs have ended.
--
-- K1. An address keeps its key as long as there is its row. One that the code has no more is switched off and not deleted: a process of
--     an older deploy that starts again must not cost the others their addresses.
-- K2. A delivery is a run of its own. It is inserted by the transaction that inserts the end of the run it tells of, whoever writes that
--     and by whichever way: what was not committed is never told, and what was is not lost. Its id is made of that end, so one that is
--     sent again has no second delivery.
-- K3. Deliveries are not told of: there is no loop. Without a target, the end of a run costs one look at an empty table.

-- \`digest\`: of the whole path; what is looked up says nothing of the key by the time it takes. \`options\`: JSON that only processes read.
create table @schema@.webhooks (
  id text collate "C" primary key,
  digest text collate "C" not null unique,
  key text not null,
  label text not null,
  def text collate "C" not null,
  workspace text collate "C" not null,
  timeout_ms float8,
  is_on boolean not null default true,
  created_at timestamptz not null,
  rotated_at timestamptz,
  options text not null
);

-- What each of these definitions has, in the place of what it had. JSON: [id, digest, key, label, definition, timeout in ms, options, workspace].
create function @schema@.webhooks_v1(defs text, rows_json text) returns void
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  wanted constant json := rows_json::json;
begin
  update webhooks h set is_on = false where h.def = any (texts_v1(defs)) and h.is_on and not exists (
    select 1 from json_array_elements(wanted) w (one) where w.one ->> 0 = h.id);
  insert into webhooks as h (id, digest, key, label, def, timeout_ms, options, workspace, created_at)
    select w.one ->> 0, w.one ->> 1, w.one ->> 2, w.one ->> 3, w.one ->> 4, (w.one ->> 5)::float8, w.one ->> 6, w.one ->> 7, clock_v1()
      from json_array_elements(wanted) w (one)
      order by 1
    on conflict (id) do update set is_on = true, timeout_ms = excluded.timeout_ms, options = excluded.options, workspace = excluded.workspace
      where not h.is_on or (h.timeout_ms, h.options, h.workspace) is distinct from (excluded.timeout_ms, excluded.options, excluded.workspace);
end $f$;

-- Who is told of the ends of runs. \`secret\`: a name. \`workflows\`: null is every one, of runs that are no children.
create table @schema@.webhook_targets (
  id text collate "C" primary key,
  url text not null,
  secret text not null,
  events text[] not null,
  workflows text[],
  workspace text,
  with_output boolean not null
);

-- All of them. JSON: [id, url, secret, events, workflows, workspace, output].
create function @schema@.webhook_targets_v1(rows_json text) returns void
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  wanted constant json := rows_json::json;
begin
  delete from webhook_targets t where not exists (
    select 1 from json_array_elements(wanted) w (one) where w.one ->> 0 = t.id);
  insert into webhook_targets as t (id, url, secret, events, workflows, workspace, with_output)
    select w.one ->> 0, w.one ->> 1, w.one ->> 2, array(select json_array_elements_text(w.one -> 3)),
        case when json_typeof(w.one -> 4) = 'array' then array(select json_array_elements_text(w.one -> 4)) end,
        w.one ->> 5, (w.one ->> 6)::boolean
      from json_array_elements(wanted) w (one)
      order by 1
    on conflict (id) do update set url = excluded.url, secret = excluded.secret, events = excluded.events,
        workflows = excluded.workflows, workspace = excluded.workspace, with_output = excluded.with_output
      where (t.url, t.secret, t.events, t.workflows, t.workspace, t.with_output)
        is distinct from (excluded.url, excluded.secret, excluded.events, excluded.workflows, excluded.workspace, excluded.with_output);
end $f$;

-- What every end costs: one look. Nothing is set for it (a function with settings costs as much as the look), so names are whole.
create function @schema@.journal_deliver_v1() returns trigger
language plpgsql
as $f$
begin
  perform 1 from @schema@.webhook_targets limit 1;
  if found then
    perform @schema@.deliver_v1(new.uid, new.seq, new.kind, new.meta, new.payload);
  end if;
  return null;
end $f$;

-- The row of a run is at its end before the entry is written (0002); one that is copied (a fork) is not, and is nobody's news.
create function @schema@.deliver_v1(e_uid uuid, e_seq int, e_kind text, e_meta text, e_payload text) returns void
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  r runs;
  t record;
  ms text;
  chance text;
begin
  select * into r from runs o where o.uid = e_uid and o.finished_at is not null and o.def <> 'perdure.webhook';
  if r.uid is null then
    return;
  end if;
  for t in
    select c.id, c.with_output from webhook_targets c
      where e_kind = any (c.events) and (c.workspace is null or c.workspace = r.workspace)
        and case when c.workflows is null then r.parent_uid is null else r.def = any (c.workflows) end
      order by c.id
  loop
    ms := lpad(to_hex(ms_v1(clock_v1())::bigint), 12, '0');
    chance := gen_random_uuid()::text;
    perform start_v2((left(ms, 8) || '-' || right(ms, 4) || '-7' || substr(chance, 16, 3) || '-' || substr(chance, 20))::uuid,
      5, 0, null, r.workspace, 'webhook:' || t.id || ':' || e_uid || ':' || e_seq, 'perdure.webhook', null,
      json_build_object('webhook', t.id, 'run', r.id)::text, '{"bornWith":1}',
      json_build_object('target', t.id, 'uid', e_uid, 'seq', e_seq, 'event', e_kind, 'runId', r.id, 'workflow', r.def,
        'version', r.version, 'workspace', r.workspace, 'parentId', r.parent_id, 'status', r.status, 'attempt', r.attempt,
        'createdAt', ms_v1(r.created_at), 'startedAt', ms_v1(r.started_at), 'endedAt', ms_v1(r.finished_at),
        'reason', e_meta::json ->> 'reason', 'stored', case when e_kind = 'run.failed' or t.with_output then e_payload end)::text,
      null, null, null, true, null, null);
  end loop;
end $f$;
create trigger journal_deliver after insert on @schema@.journal for each row
  when (new.kind in ('run.completed', 'run.failed', 'run.cancelled', 'run.timed_out'))
  execute function @schema@.journal_deliver_v1();` },
  { number: 10, name: 'keys', breaking: false, sql: `-- breaking: no
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
  key := regexp_replace(coalesce(input::json #>> string_to_array(key_path, '.'), ''), '[\\x01-\\x1f]', ' ', 'g');
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
end $f$;` },
  { number: 11, name: 'streams', breaking: false, sql: `-- breaking: no
-- What steps publish while they run, and what has changed in all runs, for who follows them.

-- ── what steps publish ──
-- Numbered per run without a gap. \`sent\` counts within an epoch, so that what is sent again is known; \`is_first\`: the execution of its
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
-- H1. \`key\` is at least the transaction's own id, so no row with a key below the oldest transaction under way is still to come: up to there
--     it may be read, in the order (key, id), and nothing is missed that commits late.
-- H2. \`key\` is at least the first id that was not over when it was written, so of two changes of one run, the later one (which has seen
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

-- Somebody follows, for keep_ms from now on. \`begun\`: from this key on all is there; \`horizon\`: below this key nothing more is to come. A list
-- that is read when the horizon is at \`begun\` lacks nothing that is not told. \`margin_ms\`: a clock may step back so far.
-- H3. Nothing is missing from the id of a transaction on that begins when \`followed\` is set: whoever did not see it has a smaller one. So the
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
end $f$;` },
  { number: 12, name: 'insight', breaking: false, sql: `-- breaking: no
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
end $f$;` },
  { number: 13, name: 'lists', breaking: false, sql: `-- breaking: no
-- Lists of what is rare among many: by a status that is not the usual end, and by tags. Runs that neither wait nor fail and have no
-- tags are in none of these, so they cost nothing more.

create index runs_status on @schema@.runs (workspace, status, uid) where status in ('waiting', 'failed', 'cancelled', 'timed_out');

-- One text per tag. What PostgreSQL has no text for, as a NUL, can be stored as a tag and not be looked for.
create function @schema@.tags_v1(tags text) returns text[] language plpgsql immutable cost 1000 as $f$
begin
  return array(select t.key || E'\\x1f' || t.value from json_each_text(tags::json) t (key, value));
exception when data_exception then
  return '{}';
end $f$;

create index runs_tags on @schema@.runs using gin (@schema@.tags_v1(tags)) with (fastupdate = off) where tags <> '{}';` },
  { number: 14, name: 'retold', breaking: false, sql: `-- breaking: no
-- A run that is re-opened hears of its children under an id that have ended while it was over: nobody could tell it then, and it
-- does not start them again. Of the others it forgets those it has not heard of, and starts new ones.

create function @schema@.retell_v1(r_uid uuid[]) returns boolean
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
declare
  now_at constant timestamptz := clock_v1();
begin
  with c as (
    select p.uid, r.inbox + row_number() over (partition by p.uid order by k.uid) as no, k.uid as child, k.status,
        'child:' || k.uid || ':' || k.attempt as id, j.payload
      from unnest(r_uid) p (uid)
      cross join lateral (select r.inbox from runs r where r.uid = p.uid limit 1) r
      cross join lateral (
        select k.uid, k.status, k.attempt from runs k where k.parent_uid = p.uid and k.finished_at is not null and k.id <> k.uid::text) k
      cross join lateral (select j.payload from journal j where j.uid = k.uid order by j.seq desc limit 1) j
      where not exists (select 1 from messages m where m.uid = p.uid and m.id = 'child:' || k.uid || ':' || k.attempt)),
  m as (
    insert into messages (uid, no, at, id, kind, name, meta, payload)
      select c.uid, c.no, now_at, c.id, 'child', '', json_build_object('uid', c.child, 'status', c.status)::text, c.payload from c
      returning uid)
  update runs r set inbox = r.inbox + m.count,
      due_at = case when r.slot is null then coalesce(r.due_at, now_at) end,
      asks_at = case when r.slot is not null then coalesce(r.asks_at, now_at) end
    from (select m.uid, count(*)::int as count from m group by m.uid) m where r.uid = m.uid;
  return true;
end $f$;` },
  { number: 15, name: 'brought', breaking: false, sql: `-- breaking: no
-- Turns that bring their own messages: the run was parked, its last owner has kept it in memory, and a message has come to that very
-- process. What would be three changes (the message and the claim, what came of it, the park) is one, which touches no index of \`runs\`.
--
-- B1. The fence is where the run was left: parked, under the same epoch, with the same last entry and the same number of messages.
--     Whatever has happened to it since has changed one of these. The epoch stays: nobody else has had the run under it.
-- B2. A run that is to stop, waits for a slot, is suspected or diverged, or is due by now is not taken: what is due comes first. Nor is one
--     that would stay with a worker which has left, or whose turn tells of a time that has not come here yet (b_before): it would be taken, and the turn refused.
-- B3. Rows of others are locked here, so nothing is waited for: what is locked is \`busy\`, and sent again.
-- B4. Sent again, the last entry under our epoch says that it was stored, as with any turn; without entries the first message does.
-- B5. Ids that others may know too (is_doubtful) are looked up first: a message that is there already is not brought a second time.
--
-- b_ turns, e_ their entries, n_ their messages (taken 1: by this turn, 0: refused, null: left in the mailbox; reply: the entry that answers
-- it, 0: later, null: nobody waits for more). A turn that means more than that (b_silent) is only taken here: its messages stay in the
-- mailbox, and the commit call behind this one in the same transaction applies the turn and answers it.
-- Answers: as those of the commit call, source b.
create function @schema@.bring_v1(
  by_id uuid, resent boolean, feed_asked boolean, feed_into bigint, mailbox_max int, suspect_from int, is_doubtful boolean,
  b_uid uuid[], b_owner uuid[], b_epoch int[], b_seq int[], b_count int[], b_inbox int[], b_mail int[], b_taken int[],
  b_outcome boolean[], b_due float8[], b_before float8[], b_next text[], b_word text[], b_silent boolean[], b_state text,
  e_turn int[], e_no int[], e_occurrence int[], e_attempt int[], e_at float8[], e_kind text[], e_name text, e_meta text, e_payload text,
  n_turn int[], n_no int[], n_taken int[], n_reply int[], n_kind text[], n_id text, n_name text, n_meta text, n_payload text
) returns table (now_ms float8, feed_row bigint, answers text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set lock_timeout = '100ms'
as $f$
declare
  turn_count constant int := cardinality(b_uid);
  now_at constant timestamptz := clock_v1();
  applied boolean[] := array_fill(false, array[turn_count]);
  known int[] := '{}';
  just int[];
  plan_mode text;
  is_member boolean := true;
  is_whole boolean;
  spans text;
  refusals text;
  at_turn int;
begin
  if is_doubtful then
    -- Two indexes fit: planned each time (C6 of the commit call).
    plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
    known := array(select n.turn from unnest(n_turn, texts_v1(n_id)) n (turn, id)
      where exists (select 1 from messages m where m.uid = b_uid[n.turn] and m.id = n.id));
    plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
  end if;
  if 'go' = any (b_next) then
    perform 1 from workers w where w.id = by_id for key share;
    is_member := found;
  end if;
  -- No condition below is one that an index of \`runs\` has: the primary key is the only way to the row (C3 and C6 of the commit call).
  with l as materialized (
    select d.*, r.uid as run from unnest(b_uid, b_owner, b_epoch, b_seq, b_count, b_inbox, b_mail, b_taken, b_outcome, b_due, b_before, b_next, b_word, b_silent)
        with ordinality d (uid, owner, epoch, seq, count, inbox, mail, taken, outcome, due, before, next, word, silent, i)
      cross join lateral (
        select r.uid from runs r
          where r.uid = d.uid and d.i <> all (known) and d.owner = by_id and r.epoch = d.epoch and r.seq = d.seq and r.inbox = d.inbox
            and num_nulls(r.owner, r.stop, r.finished_at, r.slot, r.diverged_builds) = 5
            and coalesce(least(r.due_at, r.deadline_at) > now_at, true) and coalesce(instant_v1(d.before) <= now_at, true)
            and (is_member or d.next <> 'go')
            and r.crashes + 0 < suspect_from and r.inbox - r.taken + d.mail <= mailbox_max
          for no key update skip locked) r),
  u as (
    update runs r set
        seq = l.seq + l.count,
        updated_at = now_at,
        inbox = r.inbox + l.mail,
        taken = r.taken + coalesce(l.taken, 0),
        crashes = case when l.outcome then 0 else r.crashes end,
        owner = case when l.next = 'go' then by_id end,
        due_at = case when l.next = 'park' then instant_v1(l.due) end,
        status = case l.next when 'go' then 'running' when 'park' then 'waiting' else l.word end,
        reason = case when l.next = 'park' then l.word end,
        finished_at = case when l.next = 'end' then now_at end
      from l where r.uid = l.run
      returning l.i, l.count, l.silent, r.uid, r.seq, r.inbox)
  select coalesce(array_agg(u.i), '{}'),
      string_agg(concat_ws(E'\\x1f', 'b', u.i, 'done', u.inbox, '', 0), E'\\x1e') filter (where u.silent is not true),
      string_agg(concat(u.uid, ':', u.seq - u.count + 1, ':', u.seq), ',') filter (where feed_asked and u.count > 0)
    into just, answers, spans from u;
  is_whole := cardinality(just) = turn_count;
  foreach at_turn in array just loop applied[at_turn] := true; end loop;

  if cardinality(just) > 0 then
    insert into messages (uid, no, taken_seq, reply_seq, at, id, kind, name, meta, payload)
      select b_uid[n.turn], b_inbox[n.turn] + n.no, case n.taken when 1 then b_seq[n.turn] + b_count[n.turn] when 0 then 0 end,
          case when n.reply > 0 then b_seq[n.turn] + n.reply else n.reply end, now_at, n.id, n.kind, n.name, n.meta,
          case when n.taken is null then n.payload end
        from unnest(n_turn, n_no, n_taken, n_reply, n_kind, texts_v1(n_id), texts_v1(n_name), texts_v1(n_meta), texts_v1(n_payload))
          n (turn, no, taken, reply, kind, id, name, meta, payload)
        where is_whole or applied[n.turn];
    insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
      select b_uid[e.turn], b_seq[e.turn] + e.no, b_epoch[e.turn], instant_v1(e.at), e.occurrence, e.attempt, e.kind, e.name, e.meta, e.payload
        from unnest(e_turn, e_no, e_occurrence, e_attempt, e_at, e_kind, texts_v1(e_name), texts_v1(e_meta), texts_v1(e_payload))
          e (turn, no, occurrence, attempt, at, kind, name, meta, payload)
        where is_whole or applied[e.turn];
    if b_state <> '' then
      insert into states (uid, place, error, state)
        select b.uid, nullif(split_part(b.shown, E'\\x1c', 1), ''), nullif(split_part(b.shown, E'\\x1c', 2), ''), nullif(split_part(b.shown, E'\\x1c', 3), '')
          from unnest(b_uid, texts_v1(b_state)) with ordinality b (uid, shown, i)
          where b.shown is not null and (is_whole or applied[b.i])
        on conflict (uid) do update set
          place = coalesce(excluded.place, states.place),
          error = case when excluded.place is null then states.error else excluded.error end,
          state = coalesce(excluded.state, states.state);
    end if;
  end if;

  if not is_whole then
    select string_agg(concat_ws(E'\\x1f', 'b', b.i, case
          when resent and case when b.count > 0 then j.epoch = b.epoch else m.no is not null end then 'done'
          when not r.is_elsewhere then 'busy'
          else 'stale' end, coalesce(r.inbox, 0), coalesce(r.stop, ''), 1), E'\\x1e')
      into refusals
      from unnest(b_uid, b_owner, b_epoch, b_seq, b_count, b_inbox, b_mail, b_next, b_silent)
        with ordinality b (uid, owner, epoch, seq, count, inbox, mail, next, silent, i)
      left join lateral (
        select n.id from unnest(n_turn, n_no, texts_v1(n_id)) n (turn, no, id) where n.turn = b.i and n.no = 1 limit 1) n on true
      left join lateral (select m.no from messages m where m.uid = b.uid and m.no = b.inbox + 1 and m.id = n.id limit 1) m on true
      left join lateral (select j.epoch from journal j where j.uid = b.uid and j.seq = b.seq + b.count limit 1) j on true
      -- As it was left, and yet not applied: somebody has it locked.
      left join lateral (
        select r.inbox, r.stop, num_nulls(r.owner, r.stop, r.finished_at, r.slot, r.diverged_builds) < 5
            or r.epoch <> b.epoch or r.seq <> b.seq or r.inbox <> b.inbox or coalesce(least(r.due_at, r.deadline_at) <= now_at, false)
            or r.crashes + 0 >= suspect_from or r.inbox - r.taken + b.mail > mailbox_max or b.i = any (known) or b.owner <> by_id
            or (b.next = 'go' and not is_member) as is_elsewhere
          from runs r where r.uid = b.uid limit 1) r on true
      where not applied[b.i] and b.silent is not true;
    answers := nullif(concat_ws(E'\\x1e', answers, refusals), '');
  end if;

  feed_row := feed_into;
  if spans is not null then
    if feed_into is null then
      insert into feed (worker, pending, at, ranges) values (by_id, true, now_at, spans) returning id into feed_row;
    else
      update feed f set ranges = concat_ws(',', f.ranges, spans) where f.id = feed_into;
    end if;
  end if;
  now_ms := ms_v1(now_at);
  return next;
end $f$;` },
  { number: 16, name: 'taking', breaking: false, sql: `-- breaking: no
-- Whoever gives slots may take the runs that it gives them to, in the same update: a run with limits that begins where it was admitted
-- needs no claim of its own.
--
-- A5. Only what a claim would take at once is taken: the caller has the code and has promised \`places\`, and the run is no suspect and
--     was never found diverged. All else is due, as before. An answer that is lost is healed as that of a claim: by the next beats.

-- Gives slots as admit_v1 does; of those that get one, \`places\` at most are the caller's own from then on (\`claimed\`), by priority, then
-- the longer asking.
create function @schema@.admit_v2(groups_most int, rows_most int, is_sweep boolean, by_id uuid, by_names text, by_versions text, places int)
returns table (now_ms float8, admitted int, next_ms float8, is_start boolean, is_end boolean, claimed text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_mergejoin = off set jit = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set lock_timeout = '1s'
as $f$
declare
  now_at timestamptz;
  names constant text[] := texts_v1(by_names);
  versions constant text[] := texts_v1(by_versions);
  a admission;
  one runs;
  g_def text[];
  g_workspace text[];
  g_key text[];
  g_priority int[];
  g_fresh boolean[];
  picked uuid[];
  just int;
  mine int := 0;
  just_mine int;
  rows text;
  last int;
begin
  insert into admission as x values (true, 1, '', '', '', -1, false) on conflict (is_only) do update set calls = x.calls + 1 returning * into a;
  now_at := clock_v1();
  admitted := 0;
  is_start := a.after_def = '';

  -- What somebody with another build may take up again.
  for one in select r.* from runs r where r.owner is null and r.asks_at <= now_at and r.asks_at is not null and r.stop is null and r.diverged_builds is not null
      and is_takeable_v1(r, now_at) order by r.asks_at limit 20 loop
    if room_v1(one) > 0 then
      update runs r set slot = true, due_at = r.asks_at, asks_at = null, updated_at = now_at
        where r.uid = one.uid and r.owner is null and r.asks_at is not null and coalesce(r.stop, '') = '';
      get diagnostics just = row_count;
      admitted := admitted + just;
    end if;
  end loop;

  with recursive g (def, workspace, key, priority, fresh) as (
    (select r.def, r.limit_workspace, r.limit_key, r.priority, r.epoch = 0 from runs r
      where r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null
        and (r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0)) > (a.after_def, a.after_workspace, a.after_key, a.after_priority, a.after_fresh)
      order by r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0) limit 1)
    union all
    select n.* from g cross join lateral (
      select r.def, r.limit_workspace, r.limit_key, r.priority, r.epoch = 0 from runs r
        where r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null
          and (r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0)) > (g.def, g.workspace, g.key, g.priority, g.fresh)
        order by r.def, r.limit_workspace, r.limit_key, r.priority, (r.epoch = 0) limit 1) n)
  select array_agg(g.def), array_agg(g.workspace), array_agg(g.key), array_agg(g.priority), array_agg(g.fresh)
    into g_def, g_workspace, g_key, g_priority, g_fresh from (select * from g limit groups_most) g;
  last := coalesce(cardinality(g_def), 0);
  is_end := last < groups_most;
  if is_end and not is_start then
    update admission set after_def = '', after_workspace = '', after_key = '', after_priority = -1, after_fresh = false;
  elsif not is_end then
    update admission set after_def = g_def[last], after_workspace = g_workspace[last], after_key = g_key[last],
      after_priority = g_priority[last], after_fresh = g_fresh[last];
  end if;

  -- A slot in vain: nobody who lives has the code. Ten seconds, because a worker may just be joining.
  if is_sweep and last > 0 then
    update runs r set slot = false, asks_at = now_at, due_at = null
      where r.def = any (g_def) and r.slot and r.owner is null and r.stop is null and r.due_at <= now_at
        and r.updated_at < now_at - interval '10 seconds' and not is_takeable_v1(r, now_at);
  end if;

  while last > 0 and admitted < rows_most loop
    with g as (
      select g.*, l.concurrency, l.per_workspace, l.per_key, l.rate_runs, l.key_rate_runs, l.rate_ms, l.key_rate_ms
        from unnest(g_def, g_workspace, g_key, g_priority, g_fresh) g (def, workspace, key, priority, fresh)
        left join lateral (select l.* from limits l where l.def = g.def limit 1) l on true),
    d as materialized (
      select x.def, x.concurrency - (select count(*) from runs r where r.def = x.def and r.slot) as free,
          x.rate_runs - (select count(*) from rates t cross join lateral unnest(t.times) u (at)
            where t.def = x.def and t.key = '' and u.at > now_at - x.rate_ms * interval '1 millisecond') as tokens
        from (select distinct g.def, g.concurrency, g.rate_runs, g.rate_ms from g) x),
    w as materialized (
      select x.workspace, (select count(*) from runs r where r.limit_workspace = x.workspace and r.slot) as used
        from (select distinct g.workspace from g where g.workspace <> '') x),
    k as materialized (
      select x.def, x.key, (select count(*) from runs r where r.def = x.def and r.limit_key = x.key and r.slot) as used,
          x.key_rate_runs - (select count(*) from rates t cross join lateral unnest(t.times) u (at)
            where t.def = x.def and t.key = x.key and u.at > now_at - x.key_rate_ms * interval '1 millisecond') as tokens
        from (select distinct g.def, g.key, g.key_rate_runs, g.key_rate_ms from g where g.key <> '') x),
    f as (
      select g.*, coalesce(d.free, rows_most) as free, coalesce(g.per_workspace - w.used, rows_most) as free_workspace,
          coalesce(g.per_key - k.used, rows_most) as free_key,
          case when g.fresh then coalesce(d.tokens, rows_most) else rows_most end as tokens,
          case when g.fresh then coalesce(k.tokens, rows_most) else rows_most end as tokens_key,
          coalesce(k.used, w.used, 0) as held,
          case when g.key <> '' then g.def || E'\\x1f' || g.key else g.workspace end as whose
        from g join d on d.def = g.def left join w on w.workspace = g.workspace left join k on k.def = g.def and k.key = g.key),
    c as (
      select f.*, r.uid, r.asks_at
        from (select f.*, least(f.free, f.free_workspace, f.free_key, f.tokens, f.tokens_key, rows_most) as most from f) f
        cross join lateral (
          select r.uid, r.asks_at from runs r
            where r.def = f.def and r.limit_workspace = f.workspace and r.limit_key = f.key and r.priority = f.priority and (r.epoch = 0) = f.fresh
              and r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null and r.asks_at <= now_at
            order by r.asks_at, r.uid limit f.most) r
        where f.most > 0),
    o as (
      select c.*, c.held + row_number() over (partition by c.whose order by c.priority desc, c.asks_at, c.uid) as turn from c),
    n as (
      select o.*, row_number() over (partition by o.def order by o.priority desc, o.turn, o.asks_at, o.uid) as place,
          row_number() over (partition by o.workspace order by o.priority desc, o.turn, o.asks_at, o.uid) as place_workspace,
          row_number() over (partition by o.def, o.key order by o.priority desc, o.turn, o.asks_at, o.uid) as place_key
        from o)
    select array_agg(n.uid) into picked from n
      where n.place <= least(n.free, n.tokens) and (n.workspace = '' or n.place_workspace <= n.free_workspace)
        and (n.key = '' or n.place_key <= least(n.free_key, n.tokens_key)) and n.place <= rows_most;
    exit when picked is null;

    with u as (
      update runs r set due_at = case when not l.is_taken then r.asks_at end, asks_at = null, updated_at = now_at,
          slot = case when l.is_counted then true end,
          limit_workspace = case when l.is_counted then r.limit_workspace end,
          limit_key = case when l.is_counted then r.limit_key end,
          owner = case when l.is_taken then by_id end,
          epoch = case when l.is_taken then r.epoch + 1 else r.epoch end,
          status = case when l.is_taken then 'running' else r.status end,
          reason = case when l.is_taken then null else r.reason end,
          started_at = case when l.is_taken then coalesce(r.started_at, now_at) else r.started_at end,
          version = case when l.is_taken then coalesce(r.version, versions[array_position(names, r.def)]) else r.version end
        from (
          select p.uid, p.epoch, p.priority, p.asks_at, p.old_key, l.rate_ms, l.rate_runs, l.key_rate_ms, l.key_rate_runs,
              coalesce(l.concurrency, l.per_workspace, l.per_key) is not null as is_counted,
              p.is_ours and row_number() over (partition by p.is_ours order by p.priority desc, p.asks_at, p.uid) <= places - mine as is_taken
            from (
              select r.uid, r.def, r.epoch, r.priority, r.asks_at, r.limit_key as old_key,
                  r.crashes < 2 and exists (
                    select 1 from unnest(names, versions) w (name, version)
                      where w.name = r.def and (r.version is null or w.version = r.version)) as is_ours
                from unnest(picked) p (uid) cross join lateral (select r.* from runs r where r.uid = p.uid limit 1) r) p
            left join lateral (select l.* from limits l where l.def = p.def limit 1) l on true) l
        -- \`stop\` is so compared that no index but the primary key fits: else all that ask may be read for it.
        where r.uid = l.uid and r.epoch = l.epoch and r.owner is null and r.asks_at <= now_at and coalesce(r.stop, '') = '' and r.slot is false
        returning r.def, l.epoch, l.old_key, l.rate_ms, l.rate_runs, l.key_rate_ms, l.key_rate_runs, l.is_taken, l.priority, l.asks_at, l.uid,
          case when l.is_taken then claimed_v1(r, r.seq) end as row),
    t as (
      insert into rates as t (def, key, times)
        select x.def, x.key, array_agg(now_at) from (
            select u.def, '' as key from u where u.epoch = 0 and u.rate_runs is not null
            union all
            select u.def, u.old_key from u where u.epoch = 0 and u.key_rate_runs is not null and u.old_key <> '') x
          group by x.def, x.key
        on conflict (def, key) do update set times = array(
          select n.at from unnest(t.times || excluded.times) n (at)
            where n.at > now_at - (
              select case when t.key = '' then l.rate_ms else l.key_rate_ms end from limits l where l.def = t.def) * interval '1 millisecond' order by n.at))
    select count(*), count(*) filter (where u.is_taken), string_agg(u.row, E'\\x1e' order by u.priority desc, u.asks_at, u.uid)
      into just, just_mine, rows from u;
    admitted := admitted + just;
    mine := mine + just_mine;
    claimed := nullif(concat_ws(E'\\x1e', claimed, rows), '');
    exit when just = 0;
  end loop;

  -- Who asks later; and, where a rate is used up, when it is not.
  select ms_v1(min(x.at)) into next_ms from (
    select r.asks_at as at from unnest(g_def, g_workspace, g_key, g_priority, g_fresh) g (def, workspace, key, priority, fresh) cross join lateral (
      select r.asks_at from runs r
        where r.def = g.def and r.limit_workspace = g.workspace and r.limit_key = g.key and r.priority = g.priority and (r.epoch = 0) = g.fresh
          and r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null and r.asks_at > now_at
        order by r.asks_at limit 1) r
    union all
    select t.times[cardinality(t.times) - least(v.runs, cardinality(t.times)) + 1] + v.ms * interval '1 millisecond'
      from (select distinct g.def, g.key from unnest(g_def, g_key, g_fresh) g (def, key, fresh) where g.fresh) g
      cross join lateral (select l.* from limits l where l.def = g.def limit 1) l
      cross join lateral (values ('', l.rate_runs, l.rate_ms), (nullif(g.key, ''), l.key_rate_runs, l.key_rate_ms)) v (key, runs, ms)
      cross join lateral (select t.times from rates t where t.def = g.def and t.key = v.key limit 1) t
      where v.runs is not null) x
    where x.at > now_at;
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- For processes that claim what is due after it.
create or replace function @schema@.admit_v1(groups_most int, rows_most int, is_sweep boolean)
returns table (now_ms float8, admitted int, next_ms float8, is_start boolean, is_end boolean)
language sql
set search_path = @schema@, pg_temp
as $f$
  select a.now_ms, a.admitted, a.next_ms, a.is_start, a.is_end from admit_v2(groups_most, rows_most, is_sweep, null, '', '', 0) a
$f$;` },
  { number: 17, name: 'reading', breaking: false, sql: `-- breaking: no
-- Runs as people see them, for queries that know which: the plan of this is made once per connection. Made anew for every query it cost
-- more than all that a query of one run does.

-- In the order of \`uids\`; those that are gone are left out. Stable: it sees what the query that calls it sees, so never half a run.
create function @schema@.shown_of_v1(uids uuid[]) returns setof @schema@.shown_v1
language plpgsql stable rows 50
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_generic_plan
as $f$
begin
  return query select v.* from unnest(uids) with ordinality u (uid, i)
    cross join lateral (select v.* from shown_v1 v where v.run = u.uid limit 1) v order by u.i;
end $f$;` },
  { number: 18, name: 'folded', breaking: true, sql: `-- breaking: yes
-- Entries that are folded: what an event has done to a machine without its body is four entries (src/kernel/reacting.ts) and one row of the
-- journal. That is the last of them; the others are in \`folded\`, are numbered right before it, and were written at the same time.
-- Breaking: a process of the version before would not see them.
--
-- F1. The row with the highest number is as it would be if nothing was folded: who looks only at the end of a journal sees no difference.
-- F2. At most three are folded into one. So an entry is in one of the four rows from its own number on, and where entries are read, entries_v1
--     tells what is in a row.
-- F3. What is copied (fork_v1) or exported is not folded.
-- F4. A message that one of them has taken has no row of its own if nobody else knows its id: nobody sends it again (src/kernel/bringing.ts, B3).
-- F5. So what is told to be stale is never stored later. What was sent before it may still be under way, or not have begun: where its fence fits, the
--     epoch goes up (nobody has the run then), and where the row is locked the answer is busy.

-- \`folded\`: entries that come right before this one and have no row of their own. Who wants to see all of them reads \`history_v1\`.
alter table @schema@.journal add column folded text;

drop index @schema@.journal_behind;
create index journal_behind on @schema@.journal (uid, seq) where kind in ('round.ended', 'run.reopened') or folded is not null;

-- The entries of a row. Folded ones have six fields each, behind what the run shows, which several of them have in them (U+001A is where); fields are
-- parted by U+001C, null is U+001B. Not planned apart: it becomes a part of the query around it.
create function @schema@.entries_v1(
  row_seq int, row_occurrence int, row_attempt int, row_kind text, row_name text, row_meta text, row_payload text, folded text
) returns table (seq int, occurrence int, attempt int, kind text, name text, meta text, payload text)
language sql immutable as $f$
  select row_seq, row_occurrence, row_attempt, row_kind, row_name, row_meta, row_payload
  union all
  select row_seq - 4 + g.i, f.fields[g.i * 6 - 2]::int, f.fields[g.i * 6 - 1]::int, f.fields[g.i * 6 - 4], f.fields[g.i * 6 - 3],
      f.fields[g.i * 6], replace(f.fields[g.i * 6 + 1], E'\\x1a', coalesce(f.fields[1], ''))
    from (select string_to_array(folded, E'\\x1c', E'\\x1b') as fields offset 0) f cross join generate_series(1, 3) g (i)
    where folded is not null
$f$;

-- Every entry of every run. What is asked of one run reads only that one's.
create view @schema@.history_v1 as
  select j.uid, e.seq, j.epoch, j.at, e.occurrence, e.attempt, e.kind, e.name, e.meta, e.payload
    from @schema@.journal j
    cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e;

-- (0015) B1–B5, with what the last column says of entries: what is folded into them. Of messages that have no row (F4) none is told here; they
-- count (b_mail). b_owner null: who commits.
create function @schema@.bring_v2(
  by_id uuid, resent boolean, feed_asked boolean, feed_into bigint, mailbox_max int, suspect_from int, is_doubtful boolean,
  b_uid uuid[], b_owner uuid[], b_epoch int[], b_seq int[], b_count int[], b_inbox int[], b_mail int[], b_taken int[],
  b_outcome boolean[], b_due float8[], b_before float8[], b_next text[], b_word text[], b_silent boolean[], b_state text,
  e_turn int[], e_no int[], e_occurrence int[], e_attempt int[], e_at float8[], e_kind text[], e_name text, e_meta text, e_payload text, e_folded text,
  n_turn int[], n_no int[], n_taken int[], n_reply int[], n_kind text[], n_id text, n_name text, n_meta text, n_payload text
) returns table (now_ms float8, feed_row bigint, answers text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set lock_timeout = '100ms'
as $f$
declare
  turn_count constant int := cardinality(b_uid);
  now_at constant timestamptz := clock_v1();
  applied boolean[] := array_fill(false, array[turn_count]);
  known int[] := '{}';
  just int[];
  plan_mode text;
  is_member boolean := true;
  is_whole boolean;
  spans text;
  refusals text;
  at_turn int;
begin
  if is_doubtful then
    -- Two indexes fit: planned each time (C6 of the commit call).
    plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
    known := array(select n.turn from unnest(n_turn, texts_v1(n_id)) n (turn, id)
      where exists (select 1 from messages m where m.uid = b_uid[n.turn] and m.id = n.id));
    plan_mode := set_config('plan_cache_mode', 'force_generic_plan', true);
  end if;
  if 'go' = any (b_next) then
    perform 1 from workers w where w.id = by_id for key share;
    is_member := found;
  end if;
  -- No condition below is one that an index of \`runs\` has: the primary key is the only way to the row (C3 and C6 of the commit call).
  with l as materialized (
    select d.*, r.uid as run from unnest(b_uid, b_owner, b_epoch, b_seq, b_count, b_inbox, b_mail, b_taken, b_outcome, b_due, b_before, b_next, b_word, b_silent)
        with ordinality d (uid, owner, epoch, seq, count, inbox, mail, taken, outcome, due, before, next, word, silent, i)
      cross join lateral (
        select r.uid from runs r
          where r.uid = d.uid and d.i <> all (known) and coalesce(d.owner, by_id) = by_id and r.epoch = d.epoch and r.seq = d.seq and r.inbox = d.inbox
            and num_nulls(r.owner, r.stop, r.finished_at, r.slot, r.diverged_builds) = 5
            and coalesce(least(r.due_at, r.deadline_at) > now_at, true) and coalesce(instant_v1(d.before) <= now_at, true)
            and (is_member or d.next <> 'go')
            and r.crashes + 0 < suspect_from and r.inbox - r.taken + d.mail <= mailbox_max
          for no key update skip locked) r),
  u as (
    update runs r set
        seq = l.seq + l.count,
        updated_at = now_at,
        inbox = r.inbox + l.mail,
        taken = r.taken + coalesce(l.taken, 0),
        crashes = case when l.outcome then 0 else r.crashes end,
        owner = case when l.next = 'go' then by_id end,
        due_at = case when l.next = 'park' then instant_v1(l.due) end,
        status = case l.next when 'go' then 'running' when 'park' then 'waiting' else l.word end,
        reason = case when l.next = 'park' then l.word end,
        finished_at = case when l.next = 'end' then now_at end
      from l where r.uid = l.run
      returning l.i, l.count, l.silent, r.uid, r.seq, r.inbox)
  select coalesce(array_agg(u.i), '{}'),
      string_agg(concat_ws(E'\\x1f', 'b', u.i, 'done', u.inbox, '', 0), E'\\x1e') filter (where u.silent is not true),
      string_agg(concat(u.uid, ':', u.seq - u.count + 1, ':', u.seq), ',') filter (where feed_asked and u.count > 0)
    into just, answers, spans from u;
  is_whole := cardinality(just) = turn_count;
  foreach at_turn in array just loop applied[at_turn] := true; end loop;

  if cardinality(just) > 0 then
    insert into messages (uid, no, taken_seq, reply_seq, at, id, kind, name, meta, payload)
      select b_uid[n.turn], b_inbox[n.turn] + n.no, case n.taken when 1 then b_seq[n.turn] + b_count[n.turn] when 0 then 0 end,
          case when n.reply > 0 then b_seq[n.turn] + n.reply else n.reply end, now_at, n.id, n.kind, n.name, n.meta,
          case when n.taken is null then n.payload end
        from unnest(n_turn, n_no, n_taken, n_reply, n_kind, texts_v1(n_id), texts_v1(n_name), texts_v1(n_meta), texts_v1(n_payload))
          n (turn, no, taken, reply, kind, id, name, meta, payload)
        where is_whole or applied[n.turn];
    insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload, folded)
      select b_uid[e.turn], b_seq[e.turn] + e.no, b_epoch[e.turn], instant_v1(e.at), e.occurrence, e.attempt, e.kind, e.name, e.meta, e.payload, e.folded
        from unnest(e_turn, e_no, e_occurrence, e_attempt, e_at, e_kind, texts_v1(e_name), texts_v1(e_meta), texts_v1(e_payload), texts_v1(e_folded))
          e (turn, no, occurrence, attempt, at, kind, name, meta, payload, folded)
        where is_whole or applied[e.turn];
    if b_state <> '' then
      insert into states (uid, place, error, state)
        select b.uid, nullif(split_part(b.shown, E'\\x1c', 1), ''), nullif(split_part(b.shown, E'\\x1c', 2), ''), nullif(split_part(b.shown, E'\\x1c', 3), '')
          from unnest(b_uid, texts_v1(b_state)) with ordinality b (uid, shown, i)
          where b.shown is not null and (is_whole or applied[b.i])
        on conflict (uid) do update set
          place = coalesce(excluded.place, states.place),
          error = case when excluded.place is null then states.error else excluded.error end,
          state = coalesce(excluded.state, states.state);
    end if;
  end if;

  if not is_whole and resent then
    with l as materialized (
      select r.uid from unnest(b_uid, b_epoch, b_seq, b_inbox, b_silent) with ordinality b (uid, epoch, seq, inbox, silent, i)
        cross join lateral (
          select r.uid from runs r
            where r.uid = b.uid and r.epoch = b.epoch and r.seq = b.seq and r.inbox = b.inbox and num_nulls(r.owner) = 1
            for no key update skip locked) r
        where not applied[b.i] and b.silent is not true)
    update runs r set epoch = r.epoch + 1 from l where r.uid = l.uid;
  end if;
  if not is_whole then
    select string_agg(concat_ws(E'\\x1f', 'b', b.i, case
          when resent and case when b.count > 0 then j.epoch = b.epoch else m.no is not null end then 'done'
          when not r.is_elsewhere or (resent and r.is_as_left) then 'busy'
          else 'stale' end, coalesce(r.inbox, 0), coalesce(r.stop, ''), 1), E'\\x1e')
      into refusals
      from unnest(b_uid, b_owner, b_epoch, b_seq, b_count, b_inbox, b_mail, b_next, b_silent)
        with ordinality b (uid, owner, epoch, seq, count, inbox, mail, next, silent, i)
      left join lateral (
        select n.id from unnest(n_turn, n_no, texts_v1(n_id)) n (turn, no, id) where n.turn = b.i and n.no = 1 limit 1) n on true
      left join lateral (select m.no from messages m where m.uid = b.uid and m.no = b.inbox + 1 and m.id = n.id limit 1) m on true
      left join lateral (select j.epoch from journal j where j.uid = b.uid and j.seq = b.seq + b.count limit 1) j on true
      -- As it was left, and yet not applied: somebody has it locked.
      left join lateral (
        select r.inbox, r.stop, num_nulls(r.owner, r.stop, r.finished_at, r.slot, r.diverged_builds) < 5
            or r.epoch <> b.epoch or r.seq <> b.seq or r.inbox <> b.inbox or coalesce(least(r.due_at, r.deadline_at) <= now_at, false)
            or r.crashes + 0 >= suspect_from or r.inbox - r.taken + b.mail > mailbox_max or b.i = any (known) or coalesce(b.owner, by_id) <> by_id
            or (b.next = 'go' and not is_member) as is_elsewhere,
            r.epoch = b.epoch and r.seq = b.seq and r.inbox = b.inbox and num_nulls(r.owner) = 1 and b.silent is not true as is_as_left
          from runs r where r.uid = b.uid limit 1) r on true
      where not applied[b.i] and b.silent is not true;
    answers := nullif(concat_ws(E'\\x1e', answers, refusals), '');
  end if;

  feed_row := feed_into;
  if spans is not null then
    if feed_into is null then
      insert into feed (worker, pending, at, ranges) values (by_id, true, now_at, spans) returning id into feed_row;
    else
      update feed f set ranges = concat_ws(',', f.ranges, spans) where f.id = feed_into;
    end if;
  end if;
  now_ms := ms_v1(now_at);
  return next;
end $f$;

-- ── as before, with what was added here ──

-- (0003)
create or replace function @schema@.load_v1(l_uid uuid[], l_owner uuid[], l_epoch int[], l_seq int[], l_no int[])
returns table (place int, entries text, mail text, taken int)
language plpgsql stable
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
begin
  if 0 = any (l_seq) then
    return query
      select l.i::int, e.entries, null::text, r.inbox - t.count
        from unnest(l_uid, l_owner, l_epoch, l_seq) with ordinality l (uid, owner, epoch, seq, i)
        cross join lateral (select r.inbox from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
        left join lateral (
          select translate(coalesce((string_to_array(j.folded, E'\\x1c', E'\\x1b'))[18], j.meta)::json ->> 'behind', '[]', '{}')::int[] as behind from journal j
            where j.uid = l.uid and (j.kind in ('round.ended', 'run.reopened') or j.folded is not null) order by j.seq desc limit 1) s on true
        -- Taken is what is not in the mailbox: it may have no row (F4).
        cross join lateral (
          select count(*)::int from (
            select m.no, row_number() over (order by m.no desc) as place from messages m where m.uid = l.uid and m.taken_seq is null) m
            where m.no = r.inbox - m.place + 1) t
        cross join lateral (select array[0] || s.behind || array[2147483647] as bounds) b
        left join lateral (
          select string_agg(concat_ws(E'\\x1f', e.seq, ms_v1(j.at), e.kind, e.name, e.occurrence, e.attempt, coalesce(e.meta, E'\\x1d'), coalesce(e.payload, E'\\x1d')),
              E'\\x1e' order by e.seq) as entries
            from generate_series(1, cardinality(b.bounds), 2) g (i)
            cross join lateral (
              select j.* from journal j where j.uid = l.uid and j.seq > b.bounds[g.i] and j.seq < b.bounds[g.i + 1]::bigint + 3 offset 0) j
            cross join lateral entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
            where e.seq > b.bounds[g.i] and e.seq < b.bounds[g.i + 1]
            group by e.seq >> 8 order by e.seq >> 8) e on true
        where l.seq = 0;
  end if;
  if 0 < any (l_seq) then
    return query
      select l.i::int, e.entries, null::text, null::int
        from unnest(l_uid, l_owner, l_epoch, l_seq) with ordinality l (uid, owner, epoch, seq, i)
        cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
        left join lateral (
          select string_agg(concat_ws(E'\\x1f', e.seq, ms_v1(j.at), e.kind, e.name, e.occurrence, e.attempt, coalesce(e.meta, E'\\x1d'), coalesce(e.payload, E'\\x1d')),
              E'\\x1e' order by e.seq) as entries
            from journal j cross join lateral entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
            where j.uid = l.uid and j.seq > l.seq and e.seq > l.seq group by e.seq >> 8 order by e.seq >> 8) e on true
        where l.seq > 0;
  end if;
  return query
    select l.i::int, null::text, m.mail, null::int
      from unnest(l_uid, l_owner, l_epoch, l_no) with ordinality l (uid, owner, epoch, no, i)
      cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
      cross join lateral (
        select string_agg(concat_ws(E'\\x1f', m.no, ms_v1(m.at), m.id, m.kind, m.name, coalesce(m.meta, E'\\x1d'), coalesce(m.payload, E'\\x1d')),
            E'\\x1e' order by m.no) as mail
          from messages m where m.uid = l.uid and m.no > l.no and m.taken_seq is null group by m.no >> 8 order by m.no >> 8) m;
end $f$;

-- (0006)
create or replace function @schema@.fork_v1(
  of_uid uuid, up_to int, f_uid uuid, f_id text, f_meta text, f_input text, o_seq int[], o_payload text, forgets int[]
) returns table (kind text, uid text, def text, is_same boolean)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set lock_timeout = '100ms'
as $f$
declare
  now_at constant timestamptz := clock_v1();
begin
  insert into runs (uid, due_at, created_at, updated_at, started_at, deadline_at, epoch, seq, priority, status, workspace, id, def, version, tags,
      slot, asks_at, limit_workspace, limit_key)
    select f_uid, case when r.slot is null then now_at end, now_at, now_at, r.started_at, now_at + (r.deadline_at - r.created_at), 0, up_to, r.priority, 'pending',
        r.workspace, f_id, r.def, r.version, r.tags,
        case when r.slot is not null then false end, case when r.slot is not null then now_at end, r.limit_workspace, r.limit_key
      from runs r where r.uid = of_uid
    on conflict do nothing;
  if found then
    insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
      select f_uid, e.seq, 0, j.at, e.occurrence, e.attempt, e.kind, e.name,
          case when e.seq = 1 then f_meta
            when e.kind = 'message.taken' then (e.meta::jsonb - 'no')::text
            when e.kind in ('step.completed', 'child.ended')
              then ((coalesce(e.meta, '{}')::jsonb - 'no' - 'undoable') || '{"inherited": true}')::text
            when e.seq = any (forgets) then (e.meta::jsonb - 'uid')::text
            else e.meta end,
          case when e.seq = 1 then coalesce(f_input, e.payload) else coalesce(o.payload, e.payload) end
        from journal j cross join lateral entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
        left join unnest(o_seq, texts_v1(o_payload)) o (seq, payload) on o.seq = e.seq
        where j.uid = of_uid and j.seq <= up_to + 3 and e.seq <= up_to;
    insert into documents (uid, seq, no, until_seq, position_seq, position_no, hidden, id, type, key, tags, content)
      select f_uid, d.seq, d.no, case when d.until_seq <= up_to then d.until_seq end, d.position_seq, d.position_no, d.hidden, d.id, d.type,
          d.key, d.tags, d.content
        from documents d where d.uid = of_uid and d.seq <= up_to;
    kind := 'done';
    return next;
    return;
  end if;
  select case when t.uid = f_uid then 'done' else 'exists' end, t.uid::text, t.def,
      j.meta is not distinct from f_meta and j.payload is not distinct from coalesce(f_input, i.payload)
    into kind, uid, def, is_same
    from runs r join runs t on t.workspace = r.workspace and t.id = f_id
    join journal j on j.uid = t.uid and j.seq = 1
    join journal i on i.uid = r.uid and i.seq = 1
    where r.uid = of_uid;
  kind := coalesce(kind, 'gone');
  return next;
end $f$;

-- (0011)
create or replace function @schema@.journal_changed_v1() returns trigger
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
    from (select n.uid, min(case when n.folded is null then n.seq else n.seq - 3 end) as low, max(n.seq) as high from added n group by n.uid) a;
  if uids is not null then
    perform @schema@.changed_v1(uids, froms, tos);
  end if;
  return null;
end $f$;` },
  { number: 19, name: 'reactions', breaking: false, sql: `-- breaking: no
-- Turns that are nothing but what messages have done without the body (Brings.reactions) have a call of their own: most of what bring_v2 is told is
-- the same for all of them. A batch of nothing else needs no commit call behind it.
--
-- B1–B4 (0015) and F1–F5 (0018) hold as they do in bring_v2. Nobody else knows the ids of their messages, so these have no rows (F4).
--
-- R1. Of who shows something the row in states is there as a rule: it is updated, and inserted only where one is missed. Nobody else writes it while
--     the row of its run is locked.
-- R2. What is folded is told once: the state that a turn shows is the one that an entry of it begins with.
-- R3. Folded rows are in no index but the primary key. Behind the last of them there is at most one round that has not ended, and who looks for it
--     (load_v1) reads that anyway.
--
-- R4. B3, nothing is waited for: a row that somebody has locked or changed says so (xmax), and only one that nobody has is updated without having been
--     locked. The others are locked first, if that can be done at once. Who comes between a look and its update is waited for, as long as lock_timeout
--     says; then the call is divided (src/store/commit.ts). To lock each one first costs a tenth of the call.
--
-- by_id … suspect_from: as those of bring_v2. r_ turns: r_owner null, who commits; r_count null, one message; r_reason null, signal; shows: how many
-- of them show something, namely those with a place (r_place) and the state of the entry with the number r_entry (null: their own number). e_ their
-- entries, each the last of four: e_turn and e_no null, each turn has one; e_at: ms from e_from on.
-- Answers: as those of the commit call, source r, and none for a turn that was stored: those are counted.
create function @schema@.react_v1(
  by_id uuid, resent boolean, feed_asked boolean, feed_into bigint, mailbox_max int, suspect_from int,
  r_uid uuid[], r_owner uuid[], r_epoch int[], r_seq int[], r_inbox int[], r_count int[], r_due float8[], r_reason text[],
  shows int, r_place text, r_error text, r_entry int[],
  e_turn int[], e_no int[], e_from float8, e_at float8[], e_name text, e_meta text, e_folded text
) returns table (now_ms float8, feed_row bigint, stored int, answers text)
language plpgsql
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set lock_timeout = '100ms'
as $f$
declare
  turn_count constant int := cardinality(r_uid);
  now_at constant timestamptz := clock_v1();
  from_at constant timestamptz := instant_v1(e_from);
  folds constant text[] := texts_v1(e_folded);
  applied boolean[];
  just int[] := '{}';
  locked int[];         -- of those that somebody might have locked, the turns whose runs are locked here; null: nobody has looked yet
  -- Whatever is older than this, counted back from now, is over.
  oldest constant int := age(pg_snapshot_xmin(pg_current_snapshot())::xid);
  is_whole boolean;
  shown int := 0;
  spans text;
  at_turn int;
begin
  loop
    -- No condition here is one that an index of \`runs\` has: the primary key is the only way to the row (C3 and C6 of the commit call).
    with u as (
      update runs r set
          seq = d.seq + coalesce(d.count, 1) * 4,
          updated_at = now_at,
          inbox = r.inbox + coalesce(d.count, 1),
          taken = r.taken + coalesce(d.count, 1),
          crashes = 0,
          due_at = instant_v1(d.due),
          reason = coalesce(d.reason, 'signal'),
          status = 'waiting'
        from unnest(r_uid, r_owner, r_epoch, r_seq, r_inbox, r_count, r_due, r_reason)
          with ordinality d (uid, owner, epoch, seq, inbox, count, due, reason, i)
        where r.uid = d.uid and coalesce(d.owner, by_id) = by_id and r.epoch = d.epoch and r.seq = d.seq and r.inbox = d.inbox
          and num_nulls(r.owner, r.stop, r.finished_at, r.slot, r.diverged_builds) = 5
          and coalesce(least(r.due_at, r.deadline_at) > now_at, true)
          and r.crashes + 0 < suspect_from and r.inbox - r.taken + coalesce(d.count, 1) <= mailbox_max
          and case when locked is null then r.xmax = '0' or age(r.xmax) > oldest else d.i = any (locked) end
        returning d.i, coalesce(d.count, 1) as count, r.uid, r.seq)
    select just || coalesce(array_agg(u.i), '{}'),
        nullif(concat_ws(',', spans, string_agg(concat(u.uid, ':', u.seq - u.count * 4 + 1, ':', u.seq), ',') filter (where feed_asked)), '')
      into just, spans from u;
    stored := cardinality(just);
    is_whole := stored = turn_count;
    exit when is_whole;
    applied := array_fill(false, array[turn_count]);
    foreach at_turn in array just loop applied[at_turn] := true; end loop;
    exit when locked is not null;
    locked := array(
      select b.i from unnest(r_uid, r_epoch, r_seq, r_inbox) with ordinality b (uid, epoch, seq, inbox, i)
        cross join lateral (
          select from runs r
            where r.uid = b.uid and r.epoch = b.epoch and r.seq = b.seq and r.inbox = b.inbox and num_nulls(r.owner) = 1
            limit 1 for no key update skip locked) r
        where not applied[b.i]);
    exit when cardinality(locked) = 0;
  end loop;

  if stored > 0 then
    insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, folded)
      select r_uid[e.of], r_seq[e.of] + e.no * 4, r_epoch[e.of], from_at + e.at * interval '1 millisecond', 1, 0, 'wait.opened', e.name, e.meta, e.folded
        from (
          select coalesce(e.turn, e.i) as of, coalesce(e.no, 1) as no, e.at, e.name, e.meta, e.folded
            from unnest(e_turn, e_no, e_at, texts_v1(e_name), texts_v1(e_meta), folds) with ordinality e (turn, no, at, name, meta, folded, i)) e
        where is_whole or applied[e.of];
    if shows > 0 then
      update states s set place = b.place, error = b.error, state = split_part(folds[coalesce(b.entry, b.i)], E'\\x1c', 1)
        from unnest(r_uid, texts_v1(r_place), texts_v1(r_error), r_entry) with ordinality b (uid, place, error, entry, i)
        where s.uid = b.uid and b.place is not null and (is_whole or applied[b.i]);
      get diagnostics shown = row_count;
      if shown < shows then
        insert into states (uid, place, error, state)
          select b.uid, b.place, b.error, split_part(folds[coalesce(b.entry, b.i)], E'\\x1c', 1)
            from unnest(r_uid, texts_v1(r_place), texts_v1(r_error), r_entry) with ordinality b (uid, place, error, entry, i)
            where b.place is not null and (is_whole or applied[b.i])
          on conflict do nothing;
      end if;
    end if;
  end if;

  if not is_whole and resent then
    with l as materialized (
      select r.uid from unnest(r_uid, r_epoch, r_seq, r_inbox) with ordinality b (uid, epoch, seq, inbox, i)
        cross join lateral (
          select r.uid from runs r
            where r.uid = b.uid and r.epoch = b.epoch and r.seq = b.seq and r.inbox = b.inbox and num_nulls(r.owner) = 1
            for no key update skip locked) r
        where not applied[b.i])
    update runs r set epoch = r.epoch + 1 from l where r.uid = l.uid;
  end if;
  if not is_whole then
    select string_agg(concat_ws(E'\\x1f', 'r', b.i, case
          when resent and j.epoch = b.epoch then 'done'
          when not r.is_elsewhere or (resent and r.is_as_left) then 'busy'
          else 'stale' end, coalesce(r.inbox, 0), coalesce(r.stop, ''), 1), E'\\x1e')
      into answers
      from unnest(r_uid, r_owner, r_epoch, r_seq, r_inbox, r_count) with ordinality b (uid, owner, epoch, seq, inbox, count, i)
      left join lateral (select j.epoch from journal j where j.uid = b.uid and j.seq = b.seq + coalesce(b.count, 1) * 4 limit 1) j on true
      -- As it was left, and yet not applied: somebody has it locked.
      left join lateral (
        select r.inbox, r.stop, num_nulls(r.owner, r.stop, r.finished_at, r.slot, r.diverged_builds) < 5
            or r.epoch <> b.epoch or r.seq <> b.seq or r.inbox <> b.inbox or coalesce(least(r.due_at, r.deadline_at) <= now_at, false)
            or r.crashes + 0 >= suspect_from or r.inbox - r.taken + coalesce(b.count, 1) > mailbox_max or coalesce(b.owner, by_id) <> by_id as is_elsewhere,
            r.epoch = b.epoch and r.seq = b.seq and r.inbox = b.inbox and num_nulls(r.owner) = 1 as is_as_left
          from runs r where r.uid = b.uid limit 1) r on true
      where not applied[b.i];
  end if;

  feed_row := feed_into;
  if spans is not null then
    if feed_into is null then
      insert into feed (worker, pending, at, ranges) values (by_id, true, now_at, spans) returning id into feed_row;
    else
      update feed f set ranges = concat_ws(',', f.ranges, spans) where f.id = feed_into;
    end if;
  end if;
  now_ms := ms_v1(now_at);
  return next;
end $f$;

drop index @schema@.journal_behind;
create index journal_behind on @schema@.journal (uid, seq) where kind in ('round.ended', 'run.reopened');

-- ── as before, with what was added here ──

-- (0018) R3. A folded row means a message: a run that has none is not looked through.
create or replace function @schema@.load_v1(l_uid uuid[], l_owner uuid[], l_epoch int[], l_seq int[], l_no int[])
returns table (place int, entries text, mail text, taken int)
language plpgsql stable
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $f$
begin
  if 0 = any (l_seq) then
    return query
      select l.i::int, e.entries, null::text, r.inbox - t.count
        from unnest(l_uid, l_owner, l_epoch, l_seq) with ordinality l (uid, owner, epoch, seq, i)
        cross join lateral (select r.inbox from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
        left join lateral (
          select j.seq, j.meta from journal j
            where j.uid = l.uid and j.kind in ('round.ended', 'run.reopened') order by j.seq desc limit 1) o on true
        left join lateral (
          select (string_to_array(j.folded, E'\\x1c', E'\\x1b'))[18] as meta from journal j
            where r.inbox > 0 and j.uid = l.uid and j.seq > coalesce(o.seq, 0) and j.folded is not null order by j.seq desc limit 1) f on true
        cross join lateral (select translate(coalesce(f.meta, o.meta)::json ->> 'behind', '[]', '{}')::int[] as behind) s
        -- Taken is what is not in the mailbox: it may have no row (F4).
        cross join lateral (
          select count(*)::int from (
            select m.no, row_number() over (order by m.no desc) as place from messages m where m.uid = l.uid and m.taken_seq is null) m
            where m.no = r.inbox - m.place + 1) t
        cross join lateral (select array[0] || s.behind || array[2147483647] as bounds) b
        left join lateral (
          select string_agg(concat_ws(E'\\x1f', e.seq, ms_v1(j.at), e.kind, e.name, e.occurrence, e.attempt, coalesce(e.meta, E'\\x1d'), coalesce(e.payload, E'\\x1d')),
              E'\\x1e' order by e.seq) as entries
            from generate_series(1, cardinality(b.bounds), 2) g (i)
            cross join lateral (
              select j.* from journal j where j.uid = l.uid and j.seq > b.bounds[g.i] and j.seq < b.bounds[g.i + 1]::bigint + 3 offset 0) j
            cross join lateral entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
            where e.seq > b.bounds[g.i] and e.seq < b.bounds[g.i + 1]
            group by e.seq >> 8 order by e.seq >> 8) e on true
        where l.seq = 0;
  end if;
  if 0 < any (l_seq) then
    return query
      select l.i::int, e.entries, null::text, null::int
        from unnest(l_uid, l_owner, l_epoch, l_seq) with ordinality l (uid, owner, epoch, seq, i)
        cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
        left join lateral (
          select string_agg(concat_ws(E'\\x1f', e.seq, ms_v1(j.at), e.kind, e.name, e.occurrence, e.attempt, coalesce(e.meta, E'\\x1d'), coalesce(e.payload, E'\\x1d')),
              E'\\x1e' order by e.seq) as entries
            from journal j cross join lateral entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
            where j.uid = l.uid and j.seq > l.seq and e.seq > l.seq group by e.seq >> 8 order by e.seq >> 8) e on true
        where l.seq > 0;
  end if;
  return query
    select l.i::int, null::text, m.mail, null::int
      from unnest(l_uid, l_owner, l_epoch, l_no) with ordinality l (uid, owner, epoch, no, i)
      cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
      cross join lateral (
        select string_agg(concat_ws(E'\\x1f', m.no, ms_v1(m.at), m.id, m.kind, m.name, coalesce(m.meta, E'\\x1d'), coalesce(m.payload, E'\\x1d')),
            E'\\x1e' order by m.no) as mail
          from messages m where m.uid = l.uid and m.no > l.no and m.taken_seq is null group by m.no >> 8 order by m.no >> 8) m;
end $f$;` },
]

export const QUERIES = {
  saveDefinition: `select kind, version from @schema@.save_definition_v2($1::text, $2::text, $3::text, $4::text, $5::int, $6::text, $7::text, $8::text, $9::text)`,
  archiveDefinition: `select @schema@.archive_definition_v1($1::text, $2::text) as done`,
  definitions: `select d.name, d.workspace, d.version, d.archived_at is not null as is_archived, @schema@.ms_v1(d.created_at) as created_at,
    @schema@.ms_v1(d.updated_at) as updated_at
  from @schema@.definitions d
  where ($1::text is null or d.name = $1::text) and ($2::text is null or d.workspace is null or d.workspace = $2::text) and d.name > $3::text
  order by d.name limit $4::int`,
  definitionTexts: `select v.name, v.version, v.note, v.author, v.json, @schema@.ms_v1(v.created_at) as created_at
  from unnest(@schema@.texts_v1($1::text), $2::int[]) w (name, version)
  join @schema@.definition_versions v on v.name = w.name and v.version = w.version`,
  definitionVersions: `select v.version, v.note, v.author, @schema@.ms_v1(v.created_at) as created_at from @schema@.definition_versions v
  where v.name = $1::text and v.version < $2::int order by v.version desc limit $3::int`,
  usedDefinitions: `select u.revision::float8 as revision, u.used from @schema@.used_definitions_v1() u`,
  declare: `update @schema@.workers set definitions = $2::text where id = $1::uuid`,
  emit: `select @schema@.emit_v1($1::text, $2::text, $3::text, $4::text, $5::text, $6::boolean) is null as done`,
  fanOut: `select uid, workspace, run, name, occurrence, message, payload from @schema@.fan_out_v1($1::int, $2::float8)`,
  awaited: `select w.uid::text as uid, o.workspace, o.id as run, w.name, w.occurrence,
    case when r.uid is null then 'unknown' when r.finished_at is not null then r.status end as message, j.payload
  from (select w.* from @schema@.waits w where w.run is not null and w.uid > $1::uuid order by w.uid limit $2::int) w
  cross join lateral (select o.workspace, o.id from @schema@.runs o where o.uid = w.uid limit 1) o
  left join lateral (
    select r.uid, r.finished_at, r.status, r.seq from @schema@.runs r where r.workspace = w.workspace and r.id = w.run limit 1) r on true
  left join lateral (
    select j.payload from @schema@.journal j where j.uid = r.uid and j.seq = r.seq and r.finished_at is not null limit 1) j on true
  order by w.uid`,
  heard: `delete from @schema@.waits w using unnest($1::uuid[], @schema@.texts_v1($2::text), $3::int[]) h (uid, name, occurrence)
  where w.uid = h.uid and w.name = h.name and w.occurrence = h.occurrence`,
  serverHealth: `select current_setting('server_version') as version, current_setting('server_version_num')::int as version_num,
  current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as synchronous_commit, current_setting('full_page_writes') as full_page_writes,
  current_setting('max_connections')::int as connections_max,
  current_setting('superuser_reserved_connections')::int as connections_reserved,
  (select count(*)::int from pg_stat_activity a where a.backend_type = 'client backend') as connections`,
  clock: `select @schema@.ms_v1(@schema@.clock_v1()) as now_ms`,
  runHealth: `select count(*)::int as open, count(*) filter (where r.is_diverged)::int as diverged, min(r.id) filter (where r.is_diverged) as diverged_id,
    count(*) filter (where r.is_missing)::int as missing, min(r.def) filter (where r.is_missing) as missing_def,
    count(*) filter (where r.is_due and not r.is_missing)::int as due, min(r.late_ms) filter (where r.is_due and not r.is_missing) as due_ms
  from (
    select r.id, r.def, r.stop is null and r.diverged_builds is not null as is_diverged, d.is_due, @schema@.ms_v1(r.due_at) as late_ms,
        d.is_due and r.started_at is not null and not exists (
          select 1 from @schema@.workers w, json_array_elements_text(w.definitions::json) d (name)
            where w.lease_until > @schema@.clock_v1()
              and case when r.version is null then starts_with(d.name, r.def || '@') else d.name = r.def || '@' || r.version end) as is_missing
      from @schema@.runs r
      cross join lateral (select r.owner is null and r.stop is null and r.diverged_builds is null and r.due_at <= @schema@.clock_v1() as is_due) d
      where r.finished_at is null) r`,
  activity: `select b.bucket, b.what, count(*)::int as runs from (
    select least(greatest(floor((@schema@.ms_v1(r.created_at) - $3::float8) / $5::float8), 0), ceil(($4::float8 - $3) / $5) - 1)::int as bucket,
        'started' as what
      from @schema@.runs r
      where r.workspace = $1::text and r.uid >= $6::uuid and r.uid < $7::uuid
        and (r.def = $2::text or ($2::text is null and r.def <> 'perdure.webhook'))
    union all
    select floor((@schema@.ms_v1(r.finished_at) - $3) / $5)::int, r.status
      from @schema@.runs r
      where r.workspace = $1 and r.finished_at >= @schema@.instant_v1($3) and r.finished_at < @schema@.instant_v1($4)
        and (r.def = $2 or ($2 is null and r.def <> 'perdure.webhook'))) b
  group by b.bucket, b.what order by b.bucket, b.what`,
  inbox: `select v.* from @schema@.shown_of_v1(array(
    select r.uid from @schema@.runs r
      where r.workspace = $1::text and r.status = 'waiting' and r.reason = 'signal' and r.stop is null
        and (r.def = $2::text or $2::text is null)
        and (coalesce(r.due_at, r.asks_at) is null or coalesce(r.due_at, r.asks_at) > (select @schema@.clock_v1()))
        and ($3::uuid is null or r.uid > $3)
      order by r.uid limit $4::int)) v`,
  recent: `select t.uid::text as uid, j.seq, @schema@.ms_v1(j.at) as at, j.kind, j.name, j.occurrence, j.attempt, j.meta,
    case when j.kind in ('step.failed', 'undo.failed') or (j.kind = 'child.ended' and j.meta like '%"retryAt":%') then j.payload end as payload
  from unnest($1::uuid[]) t (uid)
  cross join lateral (
    select j.at, e.* from (select j.* from @schema@.journal j where j.uid = t.uid order by j.seq desc limit $2::int) j
      cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
      order by e.seq desc limit $2) j
  order by t.uid, j.seq desc`,
  visible: `select d.uid::text as uid, d.seq, d.no, d.until_seq, d.hidden, d.id, d.type, d.key, array_to_json(d.tags)::text as tags, d.content, j.name, j.occurrence, j.attempt, @schema@.ms_v1(j.at) as at
  from unnest($1::uuid[]) t (uid)
  cross join lateral (
    select d.* from @schema@.documents d where d.uid = t.uid and d.until_seq is null and not d.hidden
      order by d.position_seq, d.position_no, d.seq, d.no limit $2::int) d
  cross join lateral (select j.* from @schema@.journal j where j.uid = d.uid and j.seq = d.seq limit 1) j
  order by d.uid, d.position_seq, d.position_no, d.seq, d.no`,
  stepCounts: `with newest as materialized (
    select r.uid, r.finished_at from @schema@.runs r
      where r.workspace = $1::text and r.def = $2::text and ($3::uuid is null or r.uid >= $3)
      order by r.uid desc limit 5 * $4::int),
  chosen as materialized (select n.uid from newest n where n.finished_at is not null order by n.uid desc limit $4),
  facts as materialized (
    select j.* from chosen c
      cross join lateral (
        select j.uid, e.seq, j.at, e.kind, e.name, e.occurrence, e.meta from (
            select j.* from @schema@.journal j
              where j.uid = c.uid and (j.kind in ('step.completed', 'step.failed', 'child.started', 'child.ended') or j.folded is not null)
              order by j.seq desc limit $5::int) j
          cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
          where e.kind in ('step.completed', 'step.failed', 'child.started', 'child.ended')) j
      limit $6::int),
  timed as (
    select regexp_replace(regexp_replace(f.name, '^@[0-9]+/', ''), '[@#][0-9]+/', '/', 'g') as name, f.kind, f.meta::json as meta,
        @schema@.ms_v1(f.at) - @schema@.ms_v1(lag(f.at) over (partition by f.uid, f.name, f.occurrence order by f.seq)) as since_ms
      from facts f),
  told as (
    select t.name, t.meta ->> 'retryAt' is not null as is_retry,
        t.kind = 'step.failed' or coalesce(t.meta ->> 'status', 'completed') <> 'completed' as is_failure,
        case when t.kind = 'child.ended' then t.since_ms else (t.meta ->> 'startedAgo')::float8 end as ms
      from timed t where t.kind <> 'child.started')
select c.runs, c.is_whole, s.* from (
    select (select count(*) from chosen)::int as runs,
      (select count(*) from newest) < 5 * $4 and (select count(*) from chosen) < $4 and (select count(*) from facts) < $6
        and not exists (select 1 from facts f group by f.uid having count(*) >= $5) as is_whole) c
  left join (
    select t.name, (count(*) filter (where not t.is_retry))::int as executions,
        (count(*) filter (where t.is_failure and not t.is_retry))::int as failures, (count(*) filter (where t.is_retry))::int as retries,
        percentile_cont(0.5) within group (order by t.ms) as p50_ms, percentile_cont(0.95) within group (order by t.ms) as p95_ms
      from told t group by t.name) s on true
  order by s.name collate "C"`,
  commit: `select now_ms, feed_row, silent, answers, claimed, is_asking from @schema@.commit_v2(
  $1::uuid, $2::text, $3::text, $4::text, $5::boolean, $6::boolean, $7::bigint, $8::text, $9::int, $10::int,
  $11::uuid[], $12::uuid[], $13::int[], $14::int[], $15::int[], $16::int[], $17::int[], $18::int[],
  $19::boolean[], $20::float8[], $21::float8[], $22::text[], $23::text[], $24::text[], $25::int[], $26::boolean[], $27::text, $28::text,
  $29::int[], $30::int[], $31::int[], $32::int[], $33::float8[], $34::text[], $35::text, $36::text, $37::text,
  $38::int[], $39::int[],
  $40::int[], $41::uuid[], $42::boolean[], $43::int[], $44::float8[], $45::float8[], $46::uuid[],
  $47::text, $48::text, $49::text, $50::text, $51::text, $52::text, $53::text, $54::text,
  $55::int[], $56::uuid[], $57::boolean[], $58::text[], $59::text, $60::text, $61::text, $62::text, $63::text, $64::text,
  $65::text, $66::text, $67::text, $68::text, $69::boolean[], $70::text, $71::text)`,
  commitBrought: `select c.now_ms, coalesce(c.feed_row, b.feed_row::text) as feed_row, c.silent, concat_ws(E'\\x1e', b.answers, c.answers) as answers, c.claimed, c.is_asking
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
    $65::text, $66::text, $67::text, $68::text, $69::boolean[], $70::text, $71::text) c`,
  commitReacted: `select now_ms, feed_row::text as feed_row, stored as silent, answers from @schema@.react_v1(
  $1::uuid, $2::boolean, $3::boolean, $4::bigint, $5::int, $6::int,
  $7::uuid[], $8::uuid[], $9::int[], $10::int[], $11::int[], $12::int[], $13::float8[], $14::text[],
  $15::int, $16::text, $17::text, $18::int[],
  $19::int[], $20::int[], $21::float8, $22::float8[], $23::text, $24::text, $25::text)`,
  claim: `select now_ms, claimed, next_due_ms from @schema@.claim_v1($1::uuid, $2::text, $3::text, $4::text, $5::int, $6::int)`,
  load: `select place, entries, mail, taken from @schema@.load_v1($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::int[])`,
  join: `select @schema@.join_v2($1::uuid, $2::text, $3::text, $4::float8, $5::text, $6::text) as now_ms`,
  beat: `select alive, now_ms, owned from @schema@.beat_v1($1::uuid, $2::float8)`,
  leave: `select @schema@.leave_v1($1::uuid) as "left"`,
  forget: `delete from @schema@.workers where id = $1::uuid`,
  forgetAll: `delete from @schema@.workers`,
  reap: `select workers, dead, freed, inherited from @schema@.reap_v1($1::uuid[], $2::int[], $3::uuid, $4::bigint, $5::float8)`,
  reopen: `select case when @schema@.reopen_v1($1::uuid[], $2::int[], $3::boolean[], $4::float8[], $5::text[], $6::int[], $7::int[], $8::text, $9::text, $10::text)
    then @schema@.retell_v1($1::uuid[]) else false end as done`,
  resolve: `select @schema@.resolve_v1($1::uuid, $2::uuid, $3::int, $4::int) as fate`,
  transaction: `select pg_current_xact_id()::text as xact`,
  server: `select pg_is_in_recovery() as standby, current_setting('server_version_num')::int as version,
  to_regclass(quote_ident($1::text) || '.migrations') is not null as migrated`,
  migrated: `select coalesce(max(number), 0)::int as number from @schema@.migrations`,
  admit: `select now_ms, admitted, next_ms, is_start, is_end, claimed from @schema@.admit_v2($1::int, $2::int, $3::boolean, $4::uuid, $5::text, $6::text, $7::int)`,
  debounce: `select kind, uid, def, is_same, id from @schema@.debounce_v1(
  $1::text, $2::uuid, $3::int, $4::float8, $5::float8, $6::text, $7::text, $8::text, $9::text, $10::text, $11::text, $12::text,
  $13::text, $14::text)`,
  limitRules: `select l.def, l.concurrency, l.per_workspace, l.per_key, l.key_path, l.rate_runs, l.rate_ms, l.key_rate_runs, l.key_rate_ms from @schema@.limits l order by l.def`,
  limitUse: `select u.kind, u.def, u.name, sum(u.used)::int as used, sum(u.asking)::int as asking from (
    select v.kind, v.def, v.name, (r.slot)::int as used, (not r.slot)::int as asking
      from (
        select r.* from @schema@.runs r where r.slot
        union all
        select r.* from @schema@.runs r
          where r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null and r.asks_at <= @schema@.clock_v1()) r
      cross join lateral (values
        ('definition', r.def, ''), ('workspace', '', nullif(r.limit_workspace, '')), ('key', r.def, nullif(r.limit_key, ''))) v (kind, def, name)
      where v.name is not null) u
  group by u.kind, u.def, u.name order by u.kind, u.def, u.name`,
  holders: `select r.id, r.workspace, r.def, @schema@.ms_v1(r.created_at) as since from @schema@.runs r
  where r.slot and ($1::text = '' or r.def = $1) and ($2::text = '' or r.limit_workspace = $2) and ($3::text = '' or r.limit_key = $3)
  order by r.uid limit $4::int`,
  askers: `select r.id, r.workspace, r.def, @schema@.ms_v1(r.asks_at) as since from @schema@.runs r
  where r.owner is null and r.asks_at is not null and r.stop is null and r.diverged_builds is null and r.asks_at <= (select @schema@.clock_v1())
    and ($1::text = '' or r.def = $1) and ($2::text = '' or r.limit_workspace = $2) and ($3::text = '' or r.limit_key = $3)
  order by r.asks_at, r.uid limit $4::int`,
  liveRuns: `select r.uid::text as uid, r.owner::text as owner, r.epoch, coalesce(o.seq, r.seq) as seq, r.id, r.workspace, r.def,
    r.version, r.tags, r.parent_uid::text as parent_uid, r.parent_id, @schema@.ms_v1(r.created_at) as created_at,
    @schema@.ms_v1(coalesce(r.started_at, r.created_at)) as started_at, @schema@.ms_v1(r.deadline_at) as deadline_at
  from @schema@.runs r
  left join lateral (
    select j.seq from @schema@.journal j where j.uid = r.uid and r.owner is not null order by j.seq desc limit 1) o on true
  where r.finished_at is null and ($1::text is null or r.workspace = $1) and r.def <> 'perdure.webhook'
    and ($2::uuid is null or r.uid > $2)
  order by r.uid limit $3::int`,
  selectRuns: `with recursive up as (
    select r.uid, r.parent_uid from @schema@.runs r
      where ($1::text is null or r.workspace = $1) and ($2::text is null or r.def = $2)
        and ($3::text is null or r.id = any (@schema@.texts_v1($3)))
    union
    select p.uid, p.parent_uid from up join @schema@.runs p on p.uid = up.parent_uid),
  family as (
    select up.uid from up
    union
    select c.uid from family join @schema@.runs c on c.parent_uid = family.uid)
select r.uid::text as uid, r.def, r.version from family f join @schema@.runs r on r.uid = f.uid order by r.uid`,
  runRecords: `select json_build_object(
    'uid', r.uid, 'id', r.id, 'workspace', r.workspace, 'definition', r.def, 'version', r.version, 'status', r.status, 'reason', r.reason,
    'stop', r.stop, 'owner', r.owner, 'dueAt', @schema@.ms_v1(coalesce(r.due_at, case when r.owner is null then r.asks_at end)),
    'createdAt', @schema@.ms_v1(r.created_at), 'updatedAt', @schema@.ms_v1(r.updated_at), 'startedAt', @schema@.ms_v1(r.started_at),
    'finishedAt', @schema@.ms_v1(r.finished_at), 'deadlineAt', @schema@.ms_v1(r.deadline_at),
    'epoch', r.epoch, 'seq', coalesce(j.seq, r.seq), 'inbox', r.inbox, 'taken', r.taken, 'crashes', r.crashes, 'undoOpen', r.undo_open,
    'attempt', r.attempt, 'priority', r.priority, 'tags', r.tags::json, 'parentUid', r.parent_uid, 'parentId', r.parent_id,
    'divergedBuilds', array_to_json(coalesce(r.diverged_builds, '{}')),
    'limits', case when r.slot is not null then json_build_object('workspace', r.limit_workspace, 'key', r.limit_key) end,
    'shown', (select json_build_object('place', s.place, 'error', s.error, 'state', s.state) from @schema@.states s where s.uid = r.uid),
    'journal', coalesce(j.entries, '[]'),
    'messages', coalesce((
      select json_agg(json_build_object('no', m.no, 'takenSeq', m.taken_seq, 'replySeq', m.reply_seq, 'at', @schema@.ms_v1(m.at), 'id', m.id,
          'kind', m.kind, 'name', m.name, 'meta', m.meta::json, 'payload', m.payload) order by m.no)
        from @schema@.messages m where m.uid = r.uid), '[]'),
    'documents', coalesce((
      select json_agg(json_build_object('seq', d.seq, 'no', d.no, 'untilSeq', d.until_seq, 'position', json_build_array(d.position_seq, d.position_no),
          'isHidden', d.hidden, 'id', d.id, 'type', d.type, 'key', d.key, 'tags', array_to_json(d.tags), 'content', d.content)
          order by d.position_seq, d.position_no, d.seq, d.no)
        from @schema@.documents d where d.uid = r.uid), '[]'),
    'waits', coalesce((
      select json_agg(json_build_object('name', w.name, 'occurrence', w.occurrence, 'since', @schema@.ms_v1(w.since), 'event', w.event,
          'match', array_to_json(w.match), 'run', w.run) order by w.name, w.occurrence)
        from @schema@.waits w where w.uid = r.uid), '[]'))::text as record
  from @schema@.runs r
  left join lateral (
    select max(j.seq) as seq, json_agg(json_build_object('seq', e.seq, 'epoch', j.epoch, 'at', @schema@.ms_v1(j.at), 'kind', e.kind, 'name', e.name,
        'occurrence', e.occurrence, 'attempt', e.attempt, 'meta', e.meta::json, 'payload', e.payload) order by e.seq) as entries
      from @schema@.journal j
      cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
      where j.uid = r.uid) j on true
  where r.uid = any ($1::uuid[]) order by r.uid`,
  isMailUnderWay: `select exists (select 1 from @schema@.letters) or exists (
  select 1 from @schema@.waits w join @schema@.events e on e.workspace = w.workspace and e.name = w.event
    where (not e.is_told or not w.is_looked) and e.keys @> w.match and (e.at is null or e.at >= w.since)) as is_so`,
  holdRuns: `with asked as materialized (
    select a.uid, a.epoch, a.seq, a.inbox from unnest($1::uuid[], $2::int[], $3::int[], $4::int[]) a (uid, epoch, seq, inbox)),
  same as materialized (
    select r.uid from asked a join @schema@.runs r on r.uid = a.uid
      where r.owner is null and r.finished_at is null and r.stop is distinct from 'cancel'
        and r.epoch = a.epoch and r.seq = a.seq and r.inbox = a.inbox
      order by r.uid for no key update of r),
  held as (
    update @schema@.runs r set stop = 'pause', status = 'waiting', reason = 'paused', updated_at = @schema@.clock_v1(),
        slot = case when r.slot then false else r.slot end,
        asks_at = case when r.slot is not null then coalesce(r.asks_at, r.due_at) end,
        due_at = case when r.slot is null then r.due_at end
      from same s where r.uid = s.uid and r.stop is null and (select count(*) from same) = (select count(*) from asked))
select a.uid::text as uid from asked a where not exists (select 1 from same s where s.uid = a.uid)`,
  takenRuns: `select g.uid::text as uid from unnest($1::uuid[], @schema@.texts_v1($2::text), @schema@.texts_v1($3::text)) g (uid, workspace, id)
  where exists (select 1 from @schema@.runs r where r.uid = g.uid)
    or exists (select 1 from @schema@.runs r where r.workspace = g.workspace and r.id = g.id)`,
  putFacts: `with given as materialized (select (one ->> 'uid')::uuid as uid, one from json_array_elements($1::json) g (one)),
  entries as (
    insert into @schema@.journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload)
      select g.uid, (e ->> 'seq')::int, (e ->> 'epoch')::int, @schema@.instant_v1((e ->> 'at')::float8), (e ->> 'occurrence')::int,
          (e ->> 'attempt')::int, e ->> 'kind', e ->> 'name', e ->> 'meta', e ->> 'payload'
        from given g cross join lateral json_array_elements(g.one -> 'journal') j (e)),
  mail as (
    insert into @schema@.messages (uid, no, taken_seq, reply_seq, at, id, kind, name, meta, payload)
      select g.uid, (e ->> 'no')::int, (e ->> 'takenSeq')::int, (e ->> 'replySeq')::int, @schema@.instant_v1((e ->> 'at')::float8), e ->> 'id',
          e ->> 'kind', e ->> 'name', e ->> 'meta', e ->> 'payload'
        from given g cross join lateral json_array_elements(g.one -> 'messages') j (e)),
  shown as (
    insert into @schema@.states (uid, place, error, state)
      select g.uid, g.one -> 'shown' ->> 'place', g.one -> 'shown' ->> 'error', g.one -> 'shown' ->> 'state'
        from given g where g.one ->> 'shown' is not null),
  papers as (
    insert into @schema@.documents (uid, seq, no, until_seq, position_seq, position_no, hidden, id, type, key, tags, content)
      select g.uid, (e ->> 'seq')::int, (e ->> 'no')::int, (e ->> 'untilSeq')::int, (e -> 'position' ->> 0)::int, (e -> 'position' ->> 1)::int,
          (e ->> 'isHidden')::boolean, e ->> 'id', e ->> 'type', e ->> 'key', array(select json_array_elements_text(e -> 'tags')), e ->> 'content'
        from given g cross join lateral json_array_elements(g.one -> 'documents') j (e))
insert into @schema@.waits (uid, occurrence, since, name, workspace, event, match, run)
  select g.uid, (e ->> 'occurrence')::int, @schema@.instant_v1((e ->> 'since')::float8), e ->> 'name', g.one ->> 'workspace', e ->> 'event',
      array(select json_array_elements_text(e -> 'match')), e ->> 'run'
    from given g cross join lateral json_array_elements(g.one -> 'waits') j (e)`,
  putRuns: `insert into @schema@.runs (uid, due_at, asks_at, slot, limit_workspace, limit_key, created_at, updated_at, started_at, finished_at, deadline_at,
    epoch, seq, inbox, taken, crashes, undo_open, attempt, priority, status, reason, stop, workspace, id, def, version, parent_uid, parent_id, tags,
    diverged_builds)
  select (one ->> 'uid')::uuid, case when l.is_due then l.due_at end, case when not l.is_due then l.due_at end,
      case when l.has_limits then false end, one -> 'limits' ->> 'workspace', one -> 'limits' ->> 'key',
      @schema@.instant_v1((one ->> 'createdAt')::float8), @schema@.instant_v1((one ->> 'updatedAt')::float8),
      @schema@.instant_v1((one ->> 'startedAt')::float8), @schema@.instant_v1((one ->> 'finishedAt')::float8),
      @schema@.instant_v1((one ->> 'deadlineAt')::float8),
      (one ->> 'epoch')::int, (one ->> 'seq')::int, (one ->> 'inbox')::int, (one ->> 'taken')::int, (one ->> 'crashes')::int,
      (one ->> 'undoOpen')::int, (one ->> 'attempt')::int, (one ->> 'priority')::smallint, one ->> 'status', one ->> 'reason', one ->> 'stop',
      one ->> 'workspace', one ->> 'id', one ->> 'definition', one ->> 'version', (one ->> 'parentUid')::uuid, one ->> 'parentId', one ->> 'tags',
      nullif(array(select json_array_elements_text(one -> 'divergedBuilds')), '{}')
    from json_array_elements($1::json) g (one)
    cross join lateral (select one ->> 'limits' is not null as has_limits) h
    cross join lateral (select h.has_limits, @schema@.instant_v1((one ->> 'dueAt')::float8) as due_at,
      not h.has_limits or (one ->> 'stop') is not distinct from 'cancel' as is_due) l`,
  startAlone: `select kind, uid, def, is_same from @schema@.start_v2(
  $1::uuid, $2::int, $3::float8, $4::float8, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text, $11::text,
  $12::text, $13::text, $14::text, $15::boolean, $16::text, $17::text)`,
  lookWithin: `select r.def, r.status from @schema@.runs r where r.workspace = $1::text and r.id = $2::text`,
  mustBeWithin: `savepoint perdure; release savepoint perdure`,
  post: `insert into @schema@.letters (at, workspace, run, id, name, payload)
  values (@schema@.clock_v1(), $1::text, $2::text, $3::text, $4::text, $5::text)`,
  letters: `select no::float8 as no, workspace, run, id, name, payload from @schema@.letters order by letters.no limit $1::int`,
  burn: `delete from @schema@.letters where no = any ($1::bigint[])`,
  pause: `select uid, refusal, status from @schema@.pause_v1($1::text, $2::text, $3::boolean)`,
  fork: `select kind, uid, def, is_same from @schema@.fork_v1(
  $1::uuid, $2::int, $3::uuid, $4::text, $5::text, $6::text, $7::int[], $8::text, $9::int[])`,
  prune: `select is_ours, pruned, next_uid from @schema@.prune_v1($1::float8, $2::uuid, $3::int, $4::int)`,
  settled: `select r.uid::text as uid, r.workspace, r.id, r.status, j.payload, j.meta
  from unnest(@schema@.texts_v1($1::text), @schema@.texts_v1($2::text)) t (workspace, id)
  cross join lateral (
    select r.uid, r.workspace, r.id, r.status, r.seq from @schema@.runs r
      where r.workspace = t.workspace and r.id = t.id and r.finished_at is not null limit 1) r
  cross join lateral (select j.payload, j.meta from @schema@.journal j where j.uid = r.uid and j.seq = r.seq limit 1) j`,
  called: `select t.uid::text as uid, t.no, case when m.taken_seq > 0 then 'taken' when m.taken_seq = 0 then 'refused' else 'finished' end as fate,
    j.kind, j.payload
  from unnest($1::uuid[], $2::int[]) t (uid, no)
  left join lateral (select m.taken_seq, m.reply_seq from @schema@.messages m where m.uid = t.uid and m.no = t.no limit 1) m on true
  left join lateral (
    select e.kind, e.payload from @schema@.journal j
      cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
      where j.uid = t.uid and j.seq >= m.reply_seq and j.seq <= m.reply_seq + 3 and e.seq = m.reply_seq limit 1) j on m.reply_seq > 0
  left join lateral (select 1 as goes from @schema@.runs r where r.uid = t.uid and r.finished_at is null limit 1) g on true
  where (m.taken_seq is not null and m.reply_seq is distinct from 0) or g.goes is null`,
  delivered: `update @schema@.feed set pending = false where id = any ($1::bigint[]) and pending`,
  inherited: `select r.uid::text as uid, r.id, r.workspace, r.def, j.seq, @schema@.ms_v1(j.at) as at, j.kind, j.name, j.occurrence, j.attempt, j.meta, j.payload
  from @schema@.feed f
  cross join lateral unnest(string_to_array(f.ranges, ',')) with ordinality s (span, i)
  cross join lateral (
    select r.uid, r.id, r.workspace, r.def from @schema@.runs r where r.uid = split_part(s.span, ':', 1)::uuid limit 1) r
  cross join lateral (
    select j.at, e.* from @schema@.journal j
      cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
      where j.uid = r.uid and j.seq >= split_part(s.span, ':', 2)::int and j.seq <= split_part(s.span, ':', 3)::int + 3
        and e.seq between split_part(s.span, ':', 2)::int and split_part(s.span, ':', 3)::int) j
  where f.id = any ($1::bigint[])
  order by f.id, s.i, j.seq`,
  getRun: `select v.* from @schema@.shown_of_v1(array(select r.uid from @schema@.runs r where r.workspace = $1::text and r.id = $2::text)) v`,
  listOldest: `select v.* from @schema@.shown_of_v1(array(
    select r.uid from @schema@.runs r
      where ($1::text is null or r.workspace = $1)
        and (r.def = $2::text or ($2::text is null and r.def <> 'perdure.webhook'))
        and case when $3::text[] is null then true when cardinality($3) = 1 then r.status = ($3)[1] else r.status = any ($3) end
        and ($4::text is null or $4 = case
          when r.owner is null and r.stop is null and coalesce(r.due_at, r.asks_at) <= @schema@.clock_v1() and r.started_at is not null and not exists (
            select 1 from @schema@.workers w, json_array_elements_text(w.definitions::json) d (name)
              where w.lease_until > @schema@.clock_v1()
                and case when r.version is null then starts_with(d.name, r.def || '@') else d.name = r.def || '@' || r.version end)
          then 'missing-code' when r.status = 'waiting' then case
            when r.slot is false and r.stop is null and r.diverged_builds is null and r.started_at is not null and r.asks_at <= @schema@.clock_v1()
            then 'slot' else coalesce(r.reason, 'slot') end end)
        and ($5::text is null or r.parent_id = $5)
        and ($6::float8 is null or r.created_at > @schema@.instant_v1($6))
        and ($7::float8 is null or r.created_at < @schema@.instant_v1($7))
        and ($8::text is null or position($8 in r.id) > 0
          or exists (select 1 from json_each_text(r.tags::json) t (key, value) where position($8 in t.value) > 0))
        and ($13::text is null or $13 = coalesce(
          (select k.kind from unnest(@schema@.texts_v1($14::text), @schema@.texts_v1($15::text)) k (name, kind) where k.name = r.def limit 1),
          case when left(r.version, 1) = '#' then 'graph' when r.parent_uid is null then 'workflow' else 'task' end))
        and ($9::text = '' or (r.tags <> '{}' and @schema@.tags_v1(r.tags) @> array(
          select t.key || E'\\x1f' || t.value from unnest(@schema@.texts_v1($9), @schema@.texts_v1($10::text)) t (key, value))))
        and ($11::uuid is null or r.uid > $11)
      order by r.uid limit $12::int)) v`,
  listNewest: `select v.* from @schema@.shown_of_v1(array(
    select r.uid from @schema@.runs r
      where ($1::text is null or r.workspace = $1)
        and (r.def = $2::text or ($2::text is null and r.def <> 'perdure.webhook'))
        and case when $3::text[] is null then true when cardinality($3) = 1 then r.status = ($3)[1] else r.status = any ($3) end
        and ($4::text is null or $4 = case
          when r.owner is null and r.stop is null and coalesce(r.due_at, r.asks_at) <= @schema@.clock_v1() and r.started_at is not null and not exists (
            select 1 from @schema@.workers w, json_array_elements_text(w.definitions::json) d (name)
              where w.lease_until > @schema@.clock_v1()
                and case when r.version is null then starts_with(d.name, r.def || '@') else d.name = r.def || '@' || r.version end)
          then 'missing-code' when r.status = 'waiting' then case
            when r.slot is false and r.stop is null and r.diverged_builds is null and r.started_at is not null and r.asks_at <= @schema@.clock_v1()
            then 'slot' else coalesce(r.reason, 'slot') end end)
        and ($5::text is null or r.parent_id = $5)
        and ($6::float8 is null or r.created_at > @schema@.instant_v1($6))
        and ($7::float8 is null or r.created_at < @schema@.instant_v1($7))
        and ($8::text is null or position($8 in r.id) > 0
          or exists (select 1 from json_each_text(r.tags::json) t (key, value) where position($8 in t.value) > 0))
        and ($13::text is null or $13 = coalesce(
          (select k.kind from unnest(@schema@.texts_v1($14::text), @schema@.texts_v1($15::text)) k (name, kind) where k.name = r.def limit 1),
          case when left(r.version, 1) = '#' then 'graph' when r.parent_uid is null then 'workflow' else 'task' end))
        and ($9::text = '' or (r.tags <> '{}' and @schema@.tags_v1(r.tags) @> array(
          select t.key || E'\\x1f' || t.value from unnest(@schema@.texts_v1($9), @schema@.texts_v1($10::text)) t (key, value))))
        and ($11::uuid is null or r.uid < $11)
      order by r.uid desc limit $12::int)) v`,
  openChildren: `select v.* from @schema@.shown_of_v1(array(
  select r.uid from @schema@.runs r where r.parent_uid = $1::uuid and r.finished_at is null order by r.uid)) v`,
  historyOldest: `select e.seq, @schema@.ms_v1(j.at) as at, e.kind, e.name, e.occurrence, e.attempt, e.meta, e.payload from @schema@.journal j
  cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
  where j.uid = $1::uuid and j.seq > coalesce($2::int, 0) and j.seq <= coalesce($2::int, 0)::bigint + $3::int + 3
    and e.seq > coalesce($2::int, 0) and e.seq <= coalesce($2::int, 0)::bigint + $3::int order by e.seq limit $3`,
  historyNewest: `select e.seq, @schema@.ms_v1(j.at) as at, e.kind, e.name, e.occurrence, e.attempt, e.meta, e.payload from @schema@.journal j
  cross join (
    select least($2::int, (select l.seq + 1 from @schema@.journal l where l.uid = $1::uuid order by l.seq desc limit 1)) as seq) b
  cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
  where j.uid = $1::uuid and j.seq < b.seq + 3 and j.seq >= b.seq - $3::int
    and e.seq < b.seq and e.seq >= b.seq - $3::int order by e.seq desc limit $3`,
  checkpointsOldest: `select e.seq, @schema@.ms_v1(j.at) as at, e.kind, e.name, e.occurrence, e.attempt, e.meta, e.payload from (
    select j.* from @schema@.journal j
      where j.uid = $1::uuid and ($2::int is null or j.seq > $2)
        and ((j.kind = 'step.completed' and j.meta like '%"checkpoint":%') or (string_to_array(j.folded, E'\\x1c', E'\\x1b'))[12] like '%"checkpoint":%')
      order by j.seq limit $3::int + 1) j
  cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
  where ($2::int is null or e.seq > $2) and e.kind = 'step.completed' and e.meta like '%"checkpoint":%'
  order by e.seq limit $3::int`,
  checkpointsNewest: `select e.seq, @schema@.ms_v1(j.at) as at, e.kind, e.name, e.occurrence, e.attempt, e.meta, e.payload from (
    select j.* from @schema@.journal j
      where j.uid = $1::uuid and ($2::int is null or j.seq < $2::bigint + 3)
        and ((j.kind = 'step.completed' and j.meta like '%"checkpoint":%') or (string_to_array(j.folded, E'\\x1c', E'\\x1b'))[12] like '%"checkpoint":%')
      order by j.seq desc limit $3::int + 3) j
  cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
  where ($2::int is null or e.seq < $2) and e.kind = 'step.completed' and e.meta like '%"checkpoint":%'
  order by e.seq desc limit $3::int`,
  documents: `select d.seq, d.no, d.until_seq, d.hidden, d.id, d.type, d.key, array_to_json(d.tags)::text as tags, d.content, j.name, j.occurrence, j.attempt, @schema@.ms_v1(j.at) as at
  from @schema@.documents d
  cross join lateral (select j.* from @schema@.journal j where j.uid = d.uid and j.seq = d.seq limit 1) j
  where d.uid = $1::uuid order by d.position_seq, d.position_no, d.seq, d.no`,
  liveDefinitions: `select w.definitions from @schema@.workers w where w.lease_until > (select @schema@.clock_v1())`,
  workers: `select w.id::text as id, w.build, @schema@.ms_v1(w.started_at) as started_at, @schema@.ms_v1(w.lease_until) as lease_until,
    w.lease_until > (select @schema@.clock_v1()) as is_alive, w.definitions,
    (select count(*)::int from @schema@.runs r where r.owner = w.id) as runs
  from @schema@.workers w order by w.started_at, w.id`,
  counts: `select r.def, r.status, count(*)::int as runs from @schema@.runs r
  where ($1::text is null or r.workspace = $1) group by r.def, r.status order by r.def, r.status`,
  dueLag: `with recursive
  fit as (
    (select r.def, coalesce(r.version, '') as version, r.priority, r.due_at from @schema@.runs r where r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2
      order by r.def, coalesce(r.version, ''), r.priority, r.due_at limit 1)
    union all
    select n.* from fit k cross join lateral (
      select r.def, coalesce(r.version, '') as version, r.priority, r.due_at from @schema@.runs r
        where r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes < 2 and (r.def, coalesce(r.version, ''), r.priority) > (k.def, k.version, k.priority)
        order by r.def, coalesce(r.version, ''), r.priority, r.due_at limit 1) n),
  suspect as (
    (select r.def, coalesce(r.version, '') as version, r.priority, r.due_at from @schema@.runs r where r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes >= 2
      order by r.def, coalesce(r.version, ''), r.priority, r.due_at limit 1)
    union all
    select n.* from suspect k cross join lateral (
      select r.def, coalesce(r.version, '') as version, r.priority, r.due_at from @schema@.runs r
        where r.owner is null and r.due_at is not null and r.stop is null and r.diverged_builds is null and r.crashes >= 2 and (r.def, coalesce(r.version, ''), r.priority) > (k.def, k.version, k.priority)
        order by r.def, coalesce(r.version, ''), r.priority, r.due_at limit 1) n)
select coalesce(greatest(0, @schema@.ms_v1(@schema@.clock_v1()) - @schema@.ms_v1(min(k.due_at))), 0) as lag_ms
  from (select due_at from fit union all select due_at from suspect) k`,
  putSchedule: `insert into @schema@.schedules as s (workspace, id, def, spec, plan, overlap, input, of_def, next_slot, next_at, created_at, updated_at)
  values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, @schema@.instant_v1($9::float8),
    @schema@.instant_v1($10::float8), @schema@.clock_v1(), @schema@.clock_v1())
  on conflict (workspace, id) do update
    set def = excluded.def, plan = excluded.plan, overlap = excluded.overlap, input = excluded.input, of_def = excluded.of_def,
      spec = excluded.spec, revision = s.revision + 1, updated_at = excluded.updated_at,
      next_slot = case when s.spec = excluded.spec then s.next_slot else excluded.next_slot end,
      next_at = case when s.spec = excluded.spec then s.next_at else excluded.next_at end
    where (s.def, s.plan, s.overlap, s.input, s.of_def, s.spec)
      is distinct from (excluded.def, excluded.plan, excluded.overlap, excluded.input, excluded.of_def, excluded.spec)`,
  schedules: `select s.workspace, s.id, s.def, s.spec, s.plan, s.overlap, s.input, s.of_def, s.revision, s.is_paused, s.last_run,
    @schema@.ms_v1(s.next_slot) as next_slot, @schema@.ms_v1(s.next_at) as next_at, @schema@.ms_v1(s.last_slot) as last_slot,
    @schema@.ms_v1(s.created_at) as created_at, @schema@.ms_v1(s.updated_at) as updated_at
  from @schema@.schedules s
  where ($1::text is null or s.workspace = $1::text) and ($2::text is null or s.of_def = any (@schema@.texts_v1($2::text)))
    and (s.workspace, s.id) > ($3::text, $4::text) and ($6::text is null or s.id = $6::text)
  order by s.workspace, s.id limit $5::int`,
  pauseSchedule: `update @schema@.schedules
  set is_paused = $4::boolean, revision = revision + 1, updated_at = @schema@.clock_v1(),
    next_slot = @schema@.instant_v1($5::float8), next_at = @schema@.instant_v1($6::float8)
  where workspace = $1::text and id = $2::text and revision = $3::int
  returning id`,
  dropSchedule: `delete from @schema@.schedules where workspace = $1::text and id = $2::text returning id`,
  dueSchedules: `select @schema@.ms_v1(n.now_at) as now_ms, @schema@.ms_v1((
      select min(l.next_at) from @schema@.schedules l where not l.is_paused and l.next_at > n.now_at)) as following,
    s.workspace, s.id, s.def, s.spec, s.plan, s.overlap, s.input, s.of_def, s.revision, s.is_paused, s.last_run,
    @schema@.ms_v1(s.next_slot) as next_slot, @schema@.ms_v1(s.next_at) as next_at, @schema@.ms_v1(s.last_slot) as last_slot,
    @schema@.ms_v1(s.created_at) as created_at, @schema@.ms_v1(s.updated_at) as updated_at,
    coalesce(s.is_open, false) as is_open, @schema@.ms_v1(s.ended_at) as ended_at
  from (select @schema@.clock_v1() as now_at) n
  left join lateral (
    select d.*, r.uid is not null and r.finished_at is null as is_open, r.finished_at as ended_at
      from @schema@.schedules d
      left join @schema@.runs r on r.workspace = d.workspace and r.id = d.last_run
      where not d.is_paused and d.next_at <= n.now_at
        and not (d.overlap = 'queue' and r.uid is not null and r.finished_at is null)
      order by d.next_at limit $1::int) s on true`,
  fire: `select @schema@.fire_v1($1::text, $2::text, $3::int, $4::float8, $5::float8, $6::float8, $7::float8, $8::uuid, $9::text, $10::text,
  $11::float8, $12::text) as kind`,
  subscribe: `select @schema@.subscribe_v1($1::text, $2::text) is null as done`,
  publish: `select @schema@.publish_v1($1::uuid, $2::uuid[], $3::int[], $4::int[], $5::int[], $6::boolean[], $7::text, $8::text) is null as done`,
  standings: `select r.uid::text as uid, r.seq, r.finished_at is not null as is_final, coalesce(c.no, 0) as published
  from unnest($1::uuid[]) t (uid)
  cross join lateral (select r.uid, r.seq, r.finished_at from @schema@.runs r where r.uid = t.uid limit 1) r
  left join lateral (select c.no from @schema@.chunks c where c.uid = t.uid order by c.no desc limit 1) c on true`,
  chunks: `select c.no, c.attempt, c.is_first, @schema@.ms_v1(c.at) as at, c.step, c.value
  from @schema@.chunks c where c.uid = $1::uuid and c.no > $2::int order by c.no limit $3::int`,
  follow: `select begun, horizon from @schema@.follow_v1($1::float8, $2::float8)`,
  changes: `with h as materialized (select pg_snapshot_xmin(pg_current_snapshot()) as horizon),
c as materialized (
  select c.key, c.id, c.at, c.uids, c.froms, c.tos from @schema@.changes c
    where (c.key, c.id) >= ($1::text::xid8, $2::text::bigint) and c.key < (select h.horizon from h)
    order by c.key, c.id limit $5::int),
e as (
  select c.key, c.id, c.at, u.uid, s.seq, row_number() over (partition by c.key, c.id order by u.i, s.seq) as place
    from c cross join lateral unnest(c.uids, c.froms, c.tos) with ordinality u (uid, low, high, i)
    cross join lateral generate_series(u.low, u.high) s (seq)),
t as (
  select e.key, e.id, e.place, r.id as run, r.workspace, r.def, r.status, r.reason, coalesce(j.seq, 0) as seq, j.kind, j.name, j.occurrence,
      @schema@.ms_v1(coalesce(j.at, e.at)) as at, null::boolean as is_whole
    from e
    cross join lateral (select r.* from @schema@.runs r where r.uid = e.uid limit 1) r
    left join lateral (
      select j.at, o.* from @schema@.journal j
        cross join lateral @schema@.entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) o
        where j.uid = e.uid and j.seq >= e.seq and j.seq <= e.seq + 3 and o.seq = e.seq limit 1) j on true
    where (e.key, e.id, e.place) > ($1::text::xid8, $2::text::bigint, $3::bigint) and ($4::text is null or r.workspace = $4::text)
  union all
  select coalesce(l.key, h.horizon), coalesce(l.id, 0), coalesce(l.places, 0), null, null, null, null, null, null, null, null, null, null,
      $1::text::xid8 <= h.horizon and @schema@.is_followed_v1() and coalesce((select f.begun <= $1::text::xid8 from @schema@.follows f), false)
    from h left join lateral (
      select c.key, c.id, (select sum(u.high - u.low + 1) from unnest(c.froms, c.tos) u (low, high)) as places
        from c offset $5::int - 1 limit 1) l on true)
select t.key::text as key, t.id::text as id, t.place::int as place, t.run, t.workspace, t.def, t.status, t.reason, t.seq, t.kind, t.name, t.occurrence, t.at, t.is_whole
  from t order by t.is_whole nulls first, t.key, t.id, t.place`,
  putWebhooks: `select @schema@.webhooks_v1($1::text, $2::text) is null as done`,
  webhooks: `select h.id, h.key, h.label, h.def, h.workspace, h.timeout_ms, h.options, @schema@.ms_v1(h.created_at) as created_at, @schema@.ms_v1(h.rotated_at) as rotated_at
  from @schema@.webhooks h where h.is_on and ($1::text is null or h.digest = $1::text) order by h.id`,
  rotateWebhook: `update @schema@.webhooks h set key = $2::text, digest = $3::text, rotated_at = @schema@.clock_v1()
  where h.id = $1::text and h.is_on
  returning h.id, h.key, h.label, h.def, h.workspace, h.timeout_ms, h.options, @schema@.ms_v1(h.created_at) as created_at, @schema@.ms_v1(h.rotated_at) as rotated_at`,
  startByWebhook: `select kind from @schema@.start_v2($1::uuid, 5, 0, $2::float8, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text,
  null, null, null, false,
  coalesce($10::text, (select case when l.per_workspace is null then '' else $3::text end from @schema@.limits l where l.def = $5::text)),
  coalesce($11::text, (select '' from @schema@.limits l where l.def = $5::text)))`,
  putWebhookTargets: `select @schema@.webhook_targets_v1($1::text) is null as done`,
  webhookTargets: `select t.id, t.url, t.secret, array_to_json(t.events)::text as events, array_to_json(t.workflows)::text as workflows, t.workspace, t.with_output
  from @schema@.webhook_targets t order by t.id`,
} as const

export type QueryName = keyof typeof QUERIES
