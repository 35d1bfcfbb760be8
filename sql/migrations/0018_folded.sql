-- breaking: yes
-- Entries that are folded: what an event has done to a machine without its body is four entries (src/kernel/reacting.ts) and one row of the
-- journal. That is the last of them; the others are in `folded`, are numbered right before it, and were written at the same time.
-- Breaking: a process of the version before would not see them.
--
-- F1. The row with the highest number is as it would be if nothing was folded: who looks only at the end of a journal sees no difference.
-- F2. At most three are folded into one. So an entry is in one of the four rows from its own number on, and where entries are read, entries_v1
--     tells what is in a row.
-- F3. What is copied (fork_v1) or exported is not folded.
-- F4. A message that one of them has taken has no row of its own if nobody else knows its id: nobody sends it again (src/kernel/bringing.ts, B3).
-- F5. So what is told to be stale is never stored later. What was sent before it may still be under way, or not have begun: where its fence fits, the
--     epoch goes up (nobody has the run then), and where the row is locked the answer is busy.

-- `folded`: entries that come right before this one and have no row of their own. Who wants to see all of them reads `history_v1`.
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
      f.fields[g.i * 6], replace(f.fields[g.i * 6 + 1], E'\x1a', coalesce(f.fields[1], ''))
    from (select string_to_array(folded, E'\x1c', E'\x1b') as fields offset 0) f cross join generate_series(1, 3) g (i)
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
  -- No condition below is one that an index of `runs` has: the primary key is the only way to the row (C3 and C6 of the commit call).
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
    insert into journal (uid, seq, epoch, at, occurrence, attempt, kind, name, meta, payload, folded)
      select b_uid[e.turn], b_seq[e.turn] + e.no, b_epoch[e.turn], instant_v1(e.at), e.occurrence, e.attempt, e.kind, e.name, e.meta, e.payload, e.folded
        from unnest(e_turn, e_no, e_occurrence, e_attempt, e_at, e_kind, texts_v1(e_name), texts_v1(e_meta), texts_v1(e_payload), texts_v1(e_folded))
          e (turn, no, occurrence, attempt, at, kind, name, meta, payload, folded)
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
    select string_agg(concat_ws(E'\x1f', 'b', b.i, case
          when resent and case when b.count > 0 then j.epoch = b.epoch else m.no is not null end then 'done'
          when not r.is_elsewhere or (resent and r.is_as_left) then 'busy'
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
            or r.crashes + 0 >= suspect_from or r.inbox - r.taken + b.mail > mailbox_max or b.i = any (known) or coalesce(b.owner, by_id) <> by_id
            or (b.next = 'go' and not is_member) as is_elsewhere,
            r.epoch = b.epoch and r.seq = b.seq and r.inbox = b.inbox and num_nulls(r.owner) = 1 and b.silent is not true as is_as_left
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
          select translate(coalesce((string_to_array(j.folded, E'\x1c', E'\x1b'))[18], j.meta)::json ->> 'behind', '[]', '{}')::int[] as behind from journal j
            where j.uid = l.uid and (j.kind in ('round.ended', 'run.reopened') or j.folded is not null) order by j.seq desc limit 1) s on true
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
end $f$;
