-- breaking: no
-- Turns that bring their own messages: the run was parked, its last owner has kept it in memory, and a message has come to that very
-- process. What would be three changes (the message and the claim, what came of it, the park) is one, which touches no index of `runs`.
--
-- B1. The fence is where the run was left: parked, under the same epoch, with the same last entry and the same number of messages.
--     Whatever has happened to it since has changed one of these. The epoch stays: nobody else has had the run under it.
-- B2. A run that is to stop, waits for a slot, is suspected or diverged, or is due by now is not taken: what is due comes first. Nor is one
--     that would stay with a worker which has left, or whose turn tells of a time that has not come here yet (b_before): it would be taken, and the turn refused.
-- B3. Rows of others are locked here, so nothing is waited for: what is locked is `busy`, and sent again.
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
  -- No condition below is one that an index of `runs` has: the primary key is the only way to the row (C3 and C6 of the commit call).
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
      string_agg(concat_ws(E'\x1f', 'b', u.i, 'done', u.inbox, '', 0), E'\x1e') filter (where u.silent is not true),
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
        select b.uid, nullif(split_part(b.shown, E'\x1c', 1), ''), nullif(split_part(b.shown, E'\x1c', 2), ''), nullif(split_part(b.shown, E'\x1c', 3), '')
          from unnest(b_uid, texts_v1(b_state)) with ordinality b (uid, shown, i)
          where b.shown is not null and (is_whole or applied[b.i])
        on conflict (uid) do update set
          place = coalesce(excluded.place, states.place),
          error = case when excluded.place is null then states.error else excluded.error end,
          state = coalesce(excluded.state, states.state);
    end if;
  end if;

  if not is_whole then
    select string_agg(concat_ws(E'\x1f', 'b', b.i, case
          when resent and case when b.count > 0 then j.epoch = b.epoch else m.no is not null end then 'done'
          when not r.is_elsewhere then 'busy'
          else 'stale' end, coalesce(r.inbox, 0), coalesce(r.stop, ''), 1), E'\x1e')
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
    answers := nullif(concat_ws(E'\x1e', answers, refusals), '');
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
