-- What `doctor` looks at. Nothing is written.

-- name: serverHealth
-- Of the server and of this connection.
select current_setting('server_version') as version, current_setting('server_version_num')::int as version_num,
  current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as synchronous_commit, current_setting('full_page_writes') as full_page_writes,
  current_setting('max_connections')::int as connections_max,
  current_setting('superuser_reserved_connections')::int as connections_reserved,
  (select count(*)::int from pg_stat_activity a where a.backend_type = 'client backend') as connections;

-- name: clock
-- The time, by which everything is decided.
select @schema@.ms_v1(@schema@.clock_v1()) as now_ms;

-- name: runHealth
-- Of the runs that have not ended. A due one without live code is as in listOldest (read.sql).
select count(*)::int as open, count(*) filter (where r.is_diverged)::int as diverged, min(r.id) filter (where r.is_diverged) as diverged_id,
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
      where r.finished_at is null) r;
