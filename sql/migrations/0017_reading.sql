-- breaking: no
-- Runs as people see them, for queries that know which: the plan of this is made once per connection. Made anew for every query it cost
-- more than all that a query of one run does.

-- In the order of `uids`; those that are gone are left out. Stable: it sees what the query that calls it sees, so never half a run.
create function @schema@.shown_of_v1(uids uuid[]) returns setof @schema@.shown_v1
language plpgsql stable rows 50
set search_path = @schema@, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_generic_plan
as $f$
begin
  return query select v.* from unnest(uids) with ordinality u (uid, i)
    cross join lateral (select v.* from shown_v1 v where v.run = u.uid limit 1) v order by u.i;
end $f$;
