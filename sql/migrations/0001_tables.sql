-- breaking: no
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

-- What a run shows to people. Written with the entry `seq`; visible until the entry `until_seq`, which has put another in its
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
  select (string_to_array(packed, E'\x1f', E'\x1e'))[2:]
$f$;

-- A run as the claimer gets it.
create function @schema@.claimed_v1(r @schema@.runs, seq int) returns text language sql stable as $f$
  select concat_ws(E'\x1f', r.uid, r.epoch, seq, r.inbox, coalesce(r.stop, ''), r.crashes, r.attempt, r.id, r.workspace, r.def,
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
    left join lateral (select s.state, s.place, s.error from @schema@.states s where s.uid = r.uid limit 1) s on true;
