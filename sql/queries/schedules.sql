-- Schedules. Times cross the wire in milliseconds.

-- name: putSchedule
-- $1 workspace, $2 id, $3 definition, $4 spec, $5 plan, $6 overlap, $7 input, $8 of which definition, $9 next slot, $10 its moment.
insert into @schema@.schedules as s (workspace, id, def, spec, plan, overlap, input, of_def, next_slot, next_at, created_at, updated_at)
  values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, @schema@.instant_v1($9::float8),
    @schema@.instant_v1($10::float8), @schema@.clock_v1(), @schema@.clock_v1())
  on conflict (workspace, id) do update
    set def = excluded.def, plan = excluded.plan, overlap = excluded.overlap, input = excluded.input, of_def = excluded.of_def,
      spec = excluded.spec, revision = s.revision + 1, updated_at = excluded.updated_at,
      next_slot = case when s.spec = excluded.spec then s.next_slot else excluded.next_slot end,
      next_at = case when s.spec = excluded.spec then s.next_at else excluded.next_at end
    where (s.def, s.plan, s.overlap, s.input, s.of_def, s.spec)
      is distinct from (excluded.def, excluded.plan, excluded.overlap, excluded.input, excluded.of_def, excluded.spec);

-- name: schedules
-- $1 workspace or null, $2 of which definitions (packed) or null, $3 and $4 behind which workspace and id, $5 how many; $6 only that id, or null.
select s.workspace, s.id, s.def, s.spec, s.plan, s.overlap, s.input, s.of_def, s.revision, s.is_paused, s.last_run,
    @schema@.ms_v1(s.next_slot) as next_slot, @schema@.ms_v1(s.next_at) as next_at, @schema@.ms_v1(s.last_slot) as last_slot,
    @schema@.ms_v1(s.created_at) as created_at, @schema@.ms_v1(s.updated_at) as updated_at
  from @schema@.schedules s
  where ($1::text is null or s.workspace = $1::text) and ($2::text is null or s.of_def = any (@schema@.texts_v1($2::text)))
    and (s.workspace, s.id) > ($3::text, $4::text) and ($6::text is null or s.id = $6::text)
  order by s.workspace, s.id limit $5::int;

-- name: pauseSchedule
-- $1 workspace, $2 id, $3 revision, $4 paused or not, $5 next slot, $6 its moment.
update @schema@.schedules
  set is_paused = $4::boolean, revision = revision + 1, updated_at = @schema@.clock_v1(),
    next_slot = @schema@.instant_v1($5::float8), next_at = @schema@.instant_v1($6::float8)
  where workspace = $1::text and id = $2::text and revision = $3::int
  returning id;

-- name: dropSchedule
-- $1 workspace, $2 id.
delete from @schema@.schedules where workspace = $1::text and id = $2::text returning id;

-- name: dueSchedules
-- At most $1; one row without an id if there is none.
select @schema@.ms_v1(n.now_at) as now_ms, @schema@.ms_v1((
      select min(l.next_at) from @schema@.schedules l where not l.is_paused and l.next_at > n.now_at)) as following,
    s.workspace, s.id, s.def, s.spec, s.plan, s.overlap, s.input, s.of_def, s.revision, s.is_paused, s.last_run,
    @schema@.ms_v1(s.next_slot) as next_slot, @schema@.ms_v1(s.next_at) as next_at, @schema@.ms_v1(s.last_slot) as last_slot,
    @schema@.ms_v1(s.created_at) as created_at, @schema@.ms_v1(s.updated_at) as updated_at,
    coalesce(s.is_open, false) as is_open, @schema@.ms_v1(s.ended_at) as ended_at
  from (select @schema@.clock_v1() as now_at) n
  left join lateral (
    select d.*, r.uid is not null and r.finished_at is null as is_open, r.finished_at as ended_at
      from @schema@.schedules d
      left join @schema@.runs r on r.workspace = d.workspace and r.id = d.last_run
      where not d.is_paused and d.next_at <= n.now_at
        and not (d.overlap = 'queue' and r.uid is not null and r.finished_at is null)
      order by d.next_at limit $1::int) s on true;

-- name: fire
-- $1 workspace, $2 id, $3 revision, $4 the slot it must be at, $5 the last one that is settled, $6 the next one and $7 its moment;
-- $8 uid, $9 id, $10 tags, $11 timeout in ms and $12 meta of entry 1 of the run. Keeps H1.
select @schema@.fire_v1($1::text, $2::text, $3::int, $4::float8, $5::float8, $6::float8, $7::float8, $8::uuid, $9::text, $10::text,
  $11::float8, $12::text) as kind;

-- name: subscribe
-- $1 definitions (packed), $2 what they subscribe to (JSON): [definition, number, event, match, timeout in ms].
select @schema@.subscribe_v1($1::text, $2::text) is null as done;
