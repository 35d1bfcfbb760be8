-- Webhooks. Times cross the wire in milliseconds.

-- name: putWebhooks
-- $1 definitions (packed), $2 what they have (JSON): see webhooks_v1. Keeps K1.
select @schema@.webhooks_v1($1::text, $2::text) is null as done;

-- name: webhooks
-- Those that are on; $1 the digest of one path, or null for all.
select h.id, h.key, h.label, h.def, h.workspace, h.timeout_ms, h.options, @schema@.ms_v1(h.created_at) as created_at, @schema@.ms_v1(h.rotated_at) as rotated_at
  from @schema@.webhooks h where h.is_on and ($1::text is null or h.digest = $1::text) order by h.id;

-- name: rotateWebhook
-- $1 id, $2 key, $3 digest.
update @schema@.webhooks h set key = $2::text, digest = $3::text, rotated_at = @schema@.clock_v1()
  where h.id = $1::text and h.is_on
  returning h.id, h.key, h.label, h.def, h.workspace, h.timeout_ms, h.options, @schema@.ms_v1(h.created_at) as created_at, @schema@.ms_v1(h.rotated_at) as rotated_at;

-- name: startByWebhook
-- $1 uid, $2 timeout in ms, $3 workspace, $4 id, $5 definition, $6 version, $7 tags, $8 meta of entry 1, $9 input, $10 and $11 where it is
-- counted: null if this process does not know, then what the definition says to all.
select kind from @schema@.start_v2($1::uuid, 5, 0, $2::float8, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text,
  null, null, null, false,
  coalesce($10::text, (select case when l.per_workspace is null then '' else $3::text end from @schema@.limits l where l.def = $5::text)),
  coalesce($11::text, (select '' from @schema@.limits l where l.def = $5::text)));

-- name: putWebhookTargets
-- $1 all of them (JSON): see webhook_targets_v1.
select @schema@.webhook_targets_v1($1::text) is null as done;

-- name: webhookTargets
select t.id, t.url, t.secret, array_to_json(t.events)::text as events, array_to_json(t.workflows)::text as workflows, t.workspace, t.with_output
  from @schema@.webhook_targets t order by t.id;
