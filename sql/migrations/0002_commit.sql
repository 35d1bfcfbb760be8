-- breaking: no
-- The commit call: starts, messages and turn results in one transaction, several statements in a fixed order.
--
-- C1. Nobody waits for a lock while holding the row of a run it does not own: own rows and new rows first (these may
--     wait, at most lock_timeout), then the rows of others with skip locked. So there is no cycle.
-- C2. Each statement has a snapshot of its own (the function is volatile): a start and a message to it, a child's end
--     and its parent's park in one batch all count.
-- C3. The fence (owner, epoch, seq) is in the where of every update of an owned run; what it does not let through
--     is answered, never raised. `owner` is compared by `is not distinct from` and nothing with constants: else the
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
-- has stored and for a turn that was applied to a run without messages and stop: `silent` counts the latter.
--
-- C6. Planning costs more than executing a small batch, so a statement is planned once per session where only one index
--     fits it (runs by uid, the journal): its plan cannot depend on statistics (plans.test.ts). Those that could take a
--     wrong index of several (runs by id, messages by id) are planned each time.
--
-- C7. A plain turn (`t_plain`: entries, and nothing else changes) does not touch the row of its run: half the work. Its fence is
--     only read, and holds because nobody frees a run of this worker without its row in `workers`, which is locked here
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
          answers := nullif(concat_ws(E'\x1e', answers, concat_ws(E'\x1f', 't', at_turn, 'busy')), '');
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
            string_agg(concat_ws(E'\x1f', 't', d.i, 'done', r.inbox, coalesce(r.stop, ''), 0), E'\x1e') filter (where r.inbox > 0 or r.stop is not null),
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
          string_agg(concat_ws(E'\x1f', 't', u.i, 'done', u.inbox, coalesce(u.stop, ''), 0), E'\x1e') filter (where u.inbox > 0 or u.stop is not null),
          count(*) filter (where u.inbox = 0 and u.stop is null),
          string_agg(concat(u.uid, ':', u.seq - u.count + 1, ':', u.seq), ',') filter (where feed_asked and u.count > 0)
        into touched, part, part_silent, part_spans from u;
      foreach at_turn in array touched loop applied[at_turn] := phase; end loop;
      just := just || touched;
      silent := silent + part_silent;
      turn_answers := nullif(concat_ws(E'\x1e', turn_answers, part), '');
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
          select t.uid, nullif(split_part(t.shown, E'\x1c', 1), ''), nullif(split_part(t.shown, E'\x1c', 2), ''), nullif(split_part(t.shown, E'\x1c', 3), '')
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
        -- and `done` says that an earlier sending has stored it.
        if phase = 1 and not is_whole then
          plan_mode := set_config('plan_cache_mode', 'force_custom_plan', true);
          select string_agg(case when r.uid = s.uid then concat_ws(E'\x1f', 's', s.i, 'done') else
              concat_ws(E'\x1f', 's', s.i, 'exists', r.uid, r.def, (r.def = s.def and j.payload is not distinct from s.input)::int) end, E'\x1e'),
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
          answers := nullif(concat_ws(E'\x1e', answers, part), '');
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

    -- Whoever makes a run runnable may take it in the same commit: `take`, written once for signals and cancels.
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
      select string_agg(u.row, E'\x1e') filter (where u.is_taken) into claimed from u;
    end if;

    select string_agg(concat_ws(E'\x1f', 'm', m.i, case when m.fate in ('new', 'known') then 'done' when m.fate = 'busy' then 'busy' else 'refused' end,
        coalesce(r.uid::text, ''), coalesce(r.inbox, 0), coalesce(r.stop, ''), m.no, m.fate, coalesce(r.status, '')), E'\x1e')
      into part
      from unnest(m_turn, m_to, fates, numbers) with ordinality m (turn, target, fate, no, i)
      left join lateral (select r.uid, r.inbox, r.stop, r.status from runs r where r.uid = m.target limit 1) r on true
      where m.turn = 0;
    answers := nullif(concat_ws(E'\x1e', answers, part), '');
    -- The turns' rows once more: mail of this batch may have come behind them.
    silent := 0;
    select string_agg(concat_ws(E'\x1f', 't', t.i, 'done', r.inbox, coalesce(r.stop, ''), 0), E'\x1e') into turn_answers
      from unnest(t_uid, applied) with ordinality t (uid, phase, i)
      cross join lateral (select r.inbox, r.stop from runs r where r.uid = t.uid limit 1) r
      where t.phase > 0;
  end if;

  -- What the fence did not let through. Our own epoch at the last seq: an earlier sending has stored it (C5).
  if applied_count < turn_count then
    select string_agg(concat_ws(E'\x1f', 't', t.i, case
          when resent and t.count > 0 and j.epoch = t.epoch then 'done'
          when l.seq = t.seq and r.epoch = t.epoch and r.owner is not distinct from coalesce(t.owner, by_id) then case
            when instant_v1(t.before) > now_at then 'early'
            when t.next = 'end' and r.stop is not null and r.stop is distinct from t.stop_seen then 'stopping'
            else 'busy' end
          when resent and t.count = 0 then 'done'
          else 'stale' end, coalesce(r.inbox, 0), coalesce(r.stop, ''), 1), E'\x1e')
      into part
      from unnest(t_uid, t_owner, t_epoch, t_seq, t_count, t_mail, t_before, t_next, t_stop, applied)
        with ordinality t (uid, owner, epoch, seq, count, mail, before, next, stop_seen, phase, i)
      left join lateral (select r.owner, r.epoch, r.inbox, r.stop from runs r where r.uid = t.uid limit 1) r on true
      left join lateral (select j.seq from journal j where j.uid = t.uid order by j.seq desc limit 1) l on true
      left join lateral (select j.epoch from journal j where j.uid = t.uid and j.seq = t.seq + t.count limit 1) j on true
      where t.phase = 0 and coalesce(t.mail, 0) < 2;
    answers := nullif(concat_ws(E'\x1e', answers, part), '');
  end if;

  if spans is not null then
    if feed_into is null then
      insert into feed (worker, pending, at, ranges) values (by_id, true, now_at, spans) returning id::text into feed_row;
    else
      update feed f set ranges = concat_ws(',', f.ranges, spans) where f.id = feed_into returning f.id::text into feed_row;
    end if;
  end if;

  answers := nullif(concat_ws(E'\x1e', turn_answers, answers), '');
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
end $f$;
