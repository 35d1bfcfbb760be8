// PgBouncer in transaction mode in front of a PostgreSQL of ours, without root and without Docker.

import { spawnSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { findProgram, libraries } from './debian.mjs'
import { freePorts, guard, makeHome } from './guarded.mjs'
import { serverUser } from './servers.mjs'

const PROGRAM = {
  names: ['pgbouncer', '/usr/sbin/pgbouncer'],
  path: 'usr/sbin/pgbouncer',
  packages: 'pgbouncer libc-ares2 libevent-2.1-7',
}

/** Throws with the reason when there is none for this machine. */
export async function findPgBouncer() {
  return findProgram(PROGRAM)
}

/**
 * @param {{ url: string, poolSize?: number }} options the server behind it, and its connections to that
 * @returns {Promise<{ url: string, stop: () => Promise<void> }>}
 */
export async function startPgBouncer({ url, poolSize = 20 }) {
  const found = await findPgBouncer()
  const user = serverUser()
  const home = makeHome(user)
  let { binary, env } = found
  if (found.home !== null && user.uid !== undefined) {
    // It refuses to run as root, and another user cannot reach a checkout below /root.
    const copy = join(home, 'package')
    cpSync(found.home, copy, { recursive: true, verbatimSymlinks: true })
    spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, copy])
    binary = join(copy, PROGRAM.path)
    env = libraries(copy)
  }
  const [port] = await freePorts(1)
  writeFileSync(join(home, 'pgbouncer.ini'), settings({ server: new URL(url), port, poolSize }))
  const guarded = guard([binary, 'pgbouncer.ini'], { env, user, home })
  const own = Object.assign(new URL(url), { port: String(port) }).href
  await guarded.ready(async () => {
    const client = new pg.Client(own)
    client.on('error', () => {})
    await client.connect()
    await client.query('select 1')
    await client.end()
    return true
  })
  return { url: own, stop: guarded.stop }
}

const settings = ({ server, port, poolSize }) => `[databases]
* = host=${server.hostname} port=${server.port} user=${server.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 1000
`
