// restate-server and redis-server for the peers that need one: on loopback, in a folder of their own, gone with the
// process that started them, however it ends.

import { createRequire } from 'node:module'
import { freePorts, guard } from '../test/support/guarded.mjs'
import { startRedis } from '../test/support/redis.mjs'

/** @returns {Promise<{ options: object, stop: () => Promise<void> }>} */
export async function startServer(kind) {
  return kind === 'restate' ? startRestate() : redisOptions()
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

async function redisOptions() {
  const { port, stop } = await startRedis()
  return { options: { redis: { host: '127.0.0.1', port } }, stop }
}
