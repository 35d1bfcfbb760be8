// A Redis of our own, without root and without Docker, which a test may flush, stop and start again.

import { connect } from 'node:net'
import { findProgram } from './debian.mjs'
import { freePorts, guard } from './guarded.mjs'

const PROGRAM = {
  names: ['redis-server', 'valkey-server'],
  path: 'usr/bin/redis-server',
  packages:
    'redis-server redis-tools liblzf1 libjemalloc2 liblua5.1-0 lua-cjson lua-bitop libatomic1 libhiredis0.14',
}
const SETTINGS = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']

/** Throws with the reason when there is none for this machine. */
export async function findRedis() {
  return findProgram(PROGRAM)
}

/** The one of TEST_REDIS_URL, which is emptied; else one of our own. */
export async function provideRedis() {
  const url = process.env.TEST_REDIS_URL
  return url ? { url, stop: async () => {} } : startRedis()
}

/** @param {{ port?: number, kept?: string, settings?: string[] }} options where it is to listen, and the folder of what it keeps */
export async function startRedis({ port, kept, settings = [] } = {}) {
  const { binary, env } = await findRedis()
  const [free] = port === undefined ? await freePorts(1) : [port]
  const keeping = kept ? ['--dir', kept, '--appendonly', 'yes', '--appendfsync', 'always'] : []
  const guarded = guard([binary, '--port', String(free), ...SETTINGS, ...keeping, ...settings], {
    env,
  })
  await guarded.ready(() => answers(free))
  return { url: `redis://127.0.0.1:${free}`, port: free, stop: guarded.stop }
}

function answers(port) {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.once('error', reject)
    socket.once('data', (data) => {
      socket.destroy()
      resolve(String(data).startsWith('+PONG'))
    })
  })
}
