-- breaking: no
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
    -- No condition here is one that an index of `runs` has: the primary key is the only way to the row (C3 and C6 of the commit call).
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
      update states s set place = b.place, error = b.error, state = split_part(folds[coalesce(b.entry, b.i)], E'\x1c', 1)
        from unnest(r_uid, texts_v1(r_place), texts_v1(r_error), r_entry) with ordinality b (uid, place, error, entry, i)
        where s.uid = b.uid and b.place is not null and (is_whole or applied[b.i]);
      get diagnostics shown = row_count;
      if shown < shows then
        insert into states (uid, place, error, state)
          select b.uid, b.place, b.error, split_part(folds[coalesce(b.entry, b.i)], E'\x1c', 1)
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
    select string_agg(concat_ws(E'\x1f', 'r', b.i, case
          when resent and j.epoch = b.epoch then 'done'
          when not r.is_elsewhere or (resent and r.is_as_left) then 'busy'
          else 'stale' end, coalesce(r.inbox, 0), coalesce(r.stop, ''), 1), E'\x1e')
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
          select (string_to_array(j.folded, E'\x1c', E'\x1b'))[18] as meta from journal j
            where r.inbox > 0 and j.uid = l.uid and j.seq > coalesce(o.seq, 0) and j.folded is not null order by j.seq desc limit 1) f on true
        cross join lateral (select translate(coalesce(f.meta, o.meta)::json ->> 'behind', '[]', '{}')::int[] as behind) s
        -- Taken is what is not in the mailbox: it may have no row (F4).
        cross join lateral (
          select count(*)::int from (
            select m.no, row_number() over (order by m.no desc) as place from messages m where m.uid = l.uid and m.taken_seq is null) m
            where m.no = r.inbox - m.place + 1) t
        cross join lateral (select array[0] || s.behind || array[2147483647] as bounds) b
        left join lateral (
          select string_agg(concat_ws(E'\x1f', e.seq, ms_v1(j.at), e.kind, e.name, e.occurrence, e.attempt, coalesce(e.meta, E'\x1d'), coalesce(e.payload, E'\x1d')),
              E'\x1e' order by e.seq) as entries
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
          select string_agg(concat_ws(E'\x1f', e.seq, ms_v1(j.at), e.kind, e.name, e.occurrence, e.attempt, coalesce(e.meta, E'\x1d'), coalesce(e.payload, E'\x1d')),
              E'\x1e' order by e.seq) as entries
            from journal j cross join lateral entries_v1(j.seq, j.occurrence, j.attempt, j.kind, j.name, j.meta, j.payload, j.folded) e
            where j.uid = l.uid and j.seq > l.seq and e.seq > l.seq group by e.seq >> 8 order by e.seq >> 8) e on true
        where l.seq > 0;
  end if;
  return query
    select l.i::int, null::text, m.mail, null::int
      from unnest(l_uid, l_owner, l_epoch, l_no) with ordinality l (uid, owner, epoch, no, i)
      cross join lateral (select 1 from runs r where r.uid = l.uid and r.epoch = l.epoch and r.owner is not distinct from l.owner limit 1) r
      cross join lateral (
        select string_agg(concat_ws(E'\x1f', m.no, ms_v1(m.at), m.id, m.kind, m.name, coalesce(m.meta, E'\x1d'), coalesce(m.payload, E'\x1d')),
            E'\x1e' order by m.no) as mail
          from messages m where m.uid = l.uid and m.no > l.no and m.taken_seq is null group by m.no >> 8 order by m.no >> 8) m;
end $f$;
