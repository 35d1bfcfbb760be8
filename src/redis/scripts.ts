// What Redis executes. Each script is one atomic change: nothing of another process comes in between.
//
// Keys   log       stream: one entry per batch of calls, numbered 1, 2, … (id `<number>-0`); `h`: sender, counter, time; `b`: the calls
//        state     hash: `version`, `last` (the number of the last entry), `now` (its time), `base` (the entry that the snapshot includes),
//                  `mark` (whose that was), `size` (of the snapshot), `ahead` (ms; only tests set it)
//        senders   hash: the last counter of each process, and when
//        snapshot  the state behind entry `base`
//
// Numbers are written with %.0f: Lua would shorten large ones.

import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'

/** A sender that was not heard for so long sends no batch again. */
const SENDER_KEPT_MS = 86_400_000

const CLOCK = `
local function clock(last, ahead)
  local time = redis.call('TIME')
  return math.max(time[1] * 1000 + math.floor(time[2] / 1000) + (ahead or 0), last)
end
local function text(number) return string.format('%.0f', number) end
`

/**
 * Appends a batch, unless it is there already, and gives what comes behind the entry that the sender has seen last.
 * ARGV: version, seen, mark of that, most entries, sender, counter ('': only reads), calls.
 */
export const EXCHANGE = `${CLOCK}
local version, last, now, base, mark, size, ahead = unpack(redis.call(
  'HMGET', KEYS[2], 'version', 'last', 'now', 'base', 'mark', 'size', 'ahead'))
if not version then return {'behind'} end
if version ~= ARGV[1] then return {'version', version} end
last, now, base = tonumber(last), tonumber(now), tonumber(base)
local seen = tonumber(ARGV[2])
if seen < base or seen > last then return {'behind'} end
if seen > base then
  local at = ARGV[2] .. '-0'
  local found = redis.call('XRANGE', KEYS[1], at, at)[1]
  mark = found and string.match(found[2][2], '^%S+ %S+')
end
if mark ~= ARGV[3] then return {'behind'} end
now = clock(now, tonumber(ahead or '0'))
local entries = redis.call('XRANGE', KEYS[1], text(seen + 1) .. '-0', '+', 'COUNT', ARGV[4])
local told = {text(now), text(base), size}
if #entries == tonumber(ARGV[4]) then return {'more', told, entries, '0'} end
if ARGV[6] == '' then return {'done', told, entries, '0'} end
local known = string.match(redis.call('HGET', KEYS[3], ARGV[5]) or '0', '^%d+')
if tonumber(known) >= tonumber(ARGV[6]) then return {'done', told, entries, '0'} end
local own = text(last + 1)
redis.call('XADD', KEYS[1], own .. '-0', 'h', ARGV[5] .. ' ' .. ARGV[6] .. ' ' .. text(now), 'b', ARGV[7])
redis.call('HSET', KEYS[2], 'last', own, 'now', text(now))
redis.call('HSET', KEYS[3], ARGV[5], ARGV[6] .. ' ' .. text(now))
return {'done', told, entries, own}
`

/** Gives the snapshot, and makes an empty store where there is none. ARGV: version, sender. */
export const OPEN = `${CLOCK}
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('HSET', KEYS[2], 'version', ARGV[1], 'last', '0', 'now', text(clock(0)), 'base', '0', 'mark', ARGV[2] .. ' 0', 'size', '0')
end
local state = redis.call('HMGET', KEYS[2], 'version', 'last', 'base', 'mark', 'size', 'now')
table.insert(state, redis.call('GET', KEYS[4]) or '')
return state
`

/** Another version goes on where nothing is behind the snapshot. ARGV: version, version before. */
export const ADOPT = `
local version, last, base = unpack(redis.call('HMGET', KEYS[2], 'version', 'last', 'base'))
if version ~= ARGV[2] or last ~= base then return 0 end
redis.call('HSET', KEYS[2], 'version', ARGV[1])
return 1
`

/** Stores a snapshot and drops what it includes. ARGV: version, number and mark of its last entry, the snapshot. */
export const SNAPSHOT = `${CLOCK}
local version, base, now = unpack(redis.call('HMGET', KEYS[2], 'version', 'base', 'now'))
if version ~= ARGV[1] or tonumber(ARGV[2]) <= tonumber(base) then return 0 end
local at = ARGV[2] .. '-0'
local found = redis.call('XRANGE', KEYS[1], at, at)[1]
if not found or string.match(found[2][2], '^%S+ %S+') ~= ARGV[3] then return 0 end
redis.call('SET', KEYS[4], ARGV[4])
redis.call('HSET', KEYS[2], 'base', ARGV[2], 'mark', ARGV[3], 'size', text(string.len(ARGV[4])))
redis.call('XTRIM', KEYS[1], 'MINID', text(tonumber(ARGV[2]) + 1) .. '-0')
local senders = redis.call('HGETALL', KEYS[3])
for i = 1, #senders, 2 do
  local at = tonumber(string.match(senders[i + 1], '%d+$'))
  if at < tonumber(now) - ${SENDER_KEPT_MS} then redis.call('HDEL', KEYS[3], senders[i]) end
end
return 1
`

const shas = new Map(
  [EXCHANGE, OPEN, ADOPT, SNAPSHOT].map((script) => [
    script,
    createHash('sha1').update(script).digest('hex'),
  ]),
)

/** The scripts on the keys of one schema, which are in one slot of a cluster. */
export class Scripts {
  /** Who writes a snapshot. */
  readonly lock: string
  private readonly redis: Redis
  private readonly keys: readonly [log: string, state: string, senders: string, snapshot: string]

  constructor(redis: Redis, schema: string) {
    const key = (name: string): string => `perdure:{${schema}}:${name}`
    this.redis = redis
    this.keys = [key('log'), key('state'), key('senders'), key('snapshot')]
    this.lock = key('lock')
  }

  run(script: string, args: readonly (string | number | Buffer)[]): Promise<unknown> {
    const rest = [...this.keys, ...args]
    return orWhole(
      () => this.redis.evalsha(shas.get(script) ?? '', this.keys.length, ...rest),
      () => this.redis.eval(script, this.keys.length, ...rest),
    )
  }

  /** Texts of the answer as they are: a snapshot is none. */
  runBuffer(script: string, args: readonly string[]): Promise<unknown> {
    const rest = [this.keys.length, ...this.keys, ...args]
    return this.redis.callBuffer('EVAL', script, ...rest)
  }

  async forget(sender: string): Promise<void> {
    await this.redis.hdel(this.keys[2], sender)
  }
}

/** Redis forgets scripts when it starts. */
async function orWhole<T>(short: () => Promise<T>, whole: () => Promise<T>): Promise<T> {
  try {
    return await short()
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return whole()
    throw error
  }
}
