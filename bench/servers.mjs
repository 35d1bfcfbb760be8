// restate-server and redis-server for the peers that need one: on loopback, in a folder of their own, gone with the
// process that started them, however it ends.

import { createRequire } from 'node:module'
import { findProgram } from '../test/support/debian.mjs'
import { freePorts, guard } from '../test/support/guarded.mjs'

const REDIS = {
  names: ['redis-server', 'valkey-server'],
  path: 'usr/bin/redis-server',
  packages:
    'redis-server redis-tools liblzf1 libjemalloc2 liblua5.1-0 lua-cjson lua-bitop libatomic1 libhiredis0.14',
}

/** @returns {Promise<{ options: object, stop: () => Promise<void> }>} */
export async function startServer(kind) {
  return kind === 'restate' ? startRestate() : startRedis()
}

async function startRestate() {
  const server = createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json')
  const binary = `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`
  const [ingress, admin, node] = await freePorts(3)
  const env = {
    RESTATE_NODE_NAME: 'bench',
    RESTATE_BIND_IP: '127.0.0.1',
    RESTATE_BIND_PORT: String(node),
    RESTATE_ADVERTISED_HOST: '127.0.0.1',
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_INGRESS__BIND_PORT: String(ingress),
    RESTATE_ADMIN__BIND_PORT: String(admin),
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LOG_FILTER: 'warn',
  }
  const guarded = guard([createRequire(server).resolve(binary), '--no-logo'], { env })
  const [ingressUrl, adminUrl] = [ingress, admin].map((port) => `http://127.0.0.1:${port}`)
  await guarded.ready(async () => {
    const [a, b] = await Promise.all([
      fetch(`${adminUrl}/health`),
      fetch(`${ingressUrl}/restate/health`),
    ])
    return a.ok && b.ok
  })
  return { options: { restate: { ingressUrl, adminUrl } }, stop: guarded.stop }
}

async function startRedis() {
  const [port] = await freePorts(1)
  const { binary, env } = await findProgram(REDIS)
  const settings = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const guarded = guard([binary, '--port', String(port), ...settings], { env })
  const { Redis } = await import('ioredis')
  await guarded.ready(async () => {
    const client = new Redis({ port, lazyConnect: true, retryStrategy: null })
    client.on('error', () => {})
    await client.connect()
    client.disconnect()
    return true
  })
  return { options: { redis: { host: '127.0.0.1', port } }, stop: guarded.stop }
}
