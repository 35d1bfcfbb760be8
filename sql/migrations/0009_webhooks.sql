-- breaking: no
-- Webhooks: addresses at which others start runs, and services that are told how runs have ended.
--
-- K1. An address keeps its key as long as there is its row. One that the code has no more is switched off and not deleted: a process of
--     an older deploy that starts again must not cost the others their addresses.
-- K2. A delivery is a run of its own. It is inserted by the transaction that inserts the end of the run it tells of, whoever writes that
--     and by whichever way: what was not committed is never told, and what was is not lost. Its id is made of that end, so one that is
--     sent again has no second delivery.
-- K3. Deliveries are not told of: there is no loop. Without a target, the end of a run costs one look at an empty table.

-- `digest`: of the whole path; what is looked up says nothing of the key by the time it takes. `options`: JSON that only processes read.
create table @schema@.webhooks (
  id text collate "C" primary key,
  digest text collate "C" not null unique,
  key text not null,
  label text not null,
  def text collate "C" not null,
  workspace text collate "C" not null,
  timeout_ms float8,
  is_on boolean not null default true,
  created_at timestamptz not null,
  rotated_at timestamptz,
  options text not null
);

-- What each of these definitions has, in the place of what it had. JSON: [id, digest, key, label, definition, timeout in ms, options, workspace].
create function @schema@.webhooks_v1(defs text, rows_json text) returns void
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  wanted constant json := rows_json::json;
begin
  update webhooks h set is_on = false where h.def = any (texts_v1(defs)) and h.is_on and not exists (
    select 1 from json_array_elements(wanted) w (one) where w.one ->> 0 = h.id);
  insert into webhooks as h (id, digest, key, label, def, timeout_ms, options, workspace, created_at)
    select w.one ->> 0, w.one ->> 1, w.one ->> 2, w.one ->> 3, w.one ->> 4, (w.one ->> 5)::float8, w.one ->> 6, w.one ->> 7, clock_v1()
      from json_array_elements(wanted) w (one)
      order by 1
    on conflict (id) do update set is_on = true, timeout_ms = excluded.timeout_ms, options = excluded.options, workspace = excluded.workspace
      where not h.is_on or (h.timeout_ms, h.options, h.workspace) is distinct from (excluded.timeout_ms, excluded.options, excluded.workspace);
end $f$;

-- Who is told of the ends of runs. `secret`: a name. `workflows`: null is every one, of runs that are no children.
create table @schema@.webhook_targets (
  id text collate "C" primary key,
  url text not null,
  secret text not null,
  events text[] not null,
  workflows text[],
  workspace text,
  with_output boolean not null
);

-- All of them. JSON: [id, url, secret, events, workflows, workspace, output].
create function @schema@.webhook_targets_v1(rows_json text) returns void
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  wanted constant json := rows_json::json;
begin
  delete from webhook_targets t where not exists (
    select 1 from json_array_elements(wanted) w (one) where w.one ->> 0 = t.id);
  insert into webhook_targets as t (id, url, secret, events, workflows, workspace, with_output)
    select w.one ->> 0, w.one ->> 1, w.one ->> 2, array(select json_array_elements_text(w.one -> 3)),
        case when json_typeof(w.one -> 4) = 'array' then array(select json_array_elements_text(w.one -> 4)) end,
        w.one ->> 5, (w.one ->> 6)::boolean
      from json_array_elements(wanted) w (one)
      order by 1
    on conflict (id) do update set url = excluded.url, secret = excluded.secret, events = excluded.events,
        workflows = excluded.workflows, workspace = excluded.workspace, with_output = excluded.with_output
      where (t.url, t.secret, t.events, t.workflows, t.workspace, t.with_output)
        is distinct from (excluded.url, excluded.secret, excluded.events, excluded.workflows, excluded.workspace, excluded.with_output);
end $f$;

-- What every end costs: one look. Nothing is set for it (a function with settings costs as much as the look), so names are whole.
create function @schema@.journal_deliver_v1() returns trigger
language plpgsql
as $f$
begin
  perform 1 from @schema@.webhook_targets limit 1;
  if found then
    perform @schema@.deliver_v1(new.uid, new.seq, new.kind, new.meta, new.payload);
  end if;
  return null;
end $f$;

-- The row of a run is at its end before the entry is written (0002); one that is copied (a fork) is not, and is nobody's news.
create function @schema@.deliver_v1(e_uid uuid, e_seq int, e_kind text, e_meta text, e_payload text) returns void
language plpgsql
set search_path = @schema@, pg_temp
as $f$
declare
  r runs;
  t record;
  ms text;
  chance text;
begin
  select * into r from runs o where o.uid = e_uid and o.finished_at is not null and o.def <> 'perdure.webhook';
  if r.uid is null then
    return;
  end if;
  for t in
    select c.id, c.with_output from webhook_targets c
      where e_kind = any (c.events) and (c.workspace is null or c.workspace = r.workspace)
        and case when c.workflows is null then r.parent_uid is null else r.def = any (c.workflows) end
      order by c.id
  loop
    ms := lpad(to_hex(ms_v1(clock_v1())::bigint), 12, '0');
    chance := gen_random_uuid()::text;
    perform start_v2((left(ms, 8) || '-' || right(ms, 4) || '-7' || substr(chance, 16, 3) || '-' || substr(chance, 20))::uuid,
      5, 0, null, r.workspace, 'webhook:' || t.id || ':' || e_uid || ':' || e_seq, 'perdure.webhook', null,
      json_build_object('webhook', t.id, 'run', r.id)::text, '{"bornWith":1}',
      json_build_object('target', t.id, 'uid', e_uid, 'seq', e_seq, 'event', e_kind, 'runId', r.id, 'workflow', r.def,
        'version', r.version, 'workspace', r.workspace, 'parentId', r.parent_id, 'status', r.status, 'attempt', r.attempt,
        'createdAt', ms_v1(r.created_at), 'startedAt', ms_v1(r.started_at), 'endedAt', ms_v1(r.finished_at),
        'reason', e_meta::json ->> 'reason', 'stored', case when e_kind = 'run.failed' or t.with_output then e_payload end)::text,
      null, null, null, true, null, null);
  end loop;
end $f$;
create trigger journal_deliver after insert on @schema@.journal for each row
  when (new.kind in ('run.completed', 'run.failed', 'run.cancelled', 'run.timed_out'))
  execute function @schema@.journal_deliver_v1();
