-- breaking: no
-- A run that is re-opened hears of its children under an id that have ended while it was over: nobody could tell it then, and it
-- does not start them again. Of the others it forgets those it has not heard of, and starts new ones.

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
  with c as (
    select p.uid, r.inbox + row_number() over (partition by p.uid order by k.uid) as no, k.uid as child, k.status, k.attempt, j.payload
      from unnest(r_uid) p (uid)
      cross join lateral (select r.inbox from runs r where r.uid = p.uid limit 1) r
      cross join lateral (
        select k.uid, k.status, k.attempt from runs k where k.parent_uid = p.uid and k.finished_at is not null and k.id <> k.uid::text) k
      cross join lateral (select j.payload from journal j where j.uid = k.uid order by j.seq desc limit 1) j
      where not exists (select 1 from messages m where m.uid = p.uid and m.id = 'child:' || k.uid || ':' || k.attempt)),
  m as (
    insert into messages (uid, no, at, id, kind, name, meta, payload)
      select c.uid, c.no, now_at, 'child:' || c.child || ':' || c.attempt, 'child', '', json_build_object('uid', c.child, 'status', c.status)::text, c.payload from c
      returning uid)
  update runs r set inbox = r.inbox + m.count,
      due_at = case when r.slot is null then coalesce(r.due_at, now_at) end,
      asks_at = case when r.slot is not null then coalesce(r.asks_at, now_at) end
    from (select m.uid, count(*)::int as count from m group by m.uid) m where r.uid = m.uid;
  return true;
end $f$;
