-- breaking: no
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
end $f$;
