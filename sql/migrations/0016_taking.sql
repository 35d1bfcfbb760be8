-- breaking: no
-- Whoever gives slots may take the runs that it gives them to, in the same update: a run with limits that begins where it was admitted
-- needs no claim of its own.
--
-- A5. Only what a claim would take at once is taken: the caller has the code and has promised `places`, and the run is no suspect and
--     was never found diverged. All else is due, as before. An answer that is lost is healed as that of a claim: by the next beats.

-- Gives slots as admit_v1 does; of those that get one, `places` at most are the caller's own from then on (`claimed`), by priority, then
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
          case when g.key <> '' then g.def || E'\x1f' || g.key else g.workspace end as whose
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
        -- `stop` is so compared that no index but the primary key fits: else all that ask may be read for it.
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
    select count(*), count(*) filter (where u.is_taken), string_agg(u.row, E'\x1e' order by u.priority desc, u.asks_at, u.uid)
      into just, just_mine, rows from u;
    admitted := admitted + just;
    mine := mine + just_mine;
    claimed := nullif(concat_ws(E'\x1e', claimed, rows), '');
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
$f$;
