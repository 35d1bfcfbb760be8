// restate-server and redis-server for the peers that need one: on loopback, in a folder of their own, gone with the
// process that started them, however it ends.

import { execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const START_MS_MAX = 60_000
const DEBIAN =
  'redis-server redis-tools liblzf1 libjemalloc2 liblua5.1-0 lua-cjson lua-bitop libatomic1 libhiredis0.14'

/** The shell waits for the end of a pipe that this process holds open, then ends the server. */
const GUARD = `home=$1; shift; cd "$home"; "$@" >log 2>&1 & pid=$!
trap '' INT TERM HUP; cat >/dev/null; kill -9 $pid 2>/dev/null; wait $pid; cd /; rm -rf "$home"`

/** @returns {Promise<{ options: object, stop: () => Promise<void> }>} */
export async function startServer(kind, { cache }) {
  return kind === 'restate' ? startRestate() : startRedis(cache)
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
  const guarded = guard([createRequire(server).resolve(binary), '--no-logo'], env)
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

async function startRedis(cache) {
  const [port] = await freePorts(1)
  const { binary, env } = await findRedis(cache)
  const settings = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const guarded = guard([binary, '--port', String(port), ...settings], env)
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

/** On the path, or Debian's packages unpacked into the cache: no registry of npm packages has a binary. */
async function findRedis(cache) {
  for (const binary of ['redis-server', 'valkey-server']) {
    if (spawnSync(binary, ['--version']).status === 0) return { binary, env: {} }
  }
  const home = join(cache, 'redis')
  const binary = join(home, 'usr/bin/redis-server')
  const run = promisify(execFile)
  if (!existsSync(binary)) {
    mkdirSync(home, { recursive: true })
    try {
      await run('apt-get', ['download', ...DEBIAN.split(' ')], { cwd: home })
      await run('sh', ['-c', 'for deb in *.deb; do dpkg-deb -x "$deb" .; done; rm *.deb'], {
        cwd: home,
      })
    } catch {
      rmSync(home, { recursive: true, force: true })
      throw new Error('no redis-server on the PATH, and Debian has none to download here')
    }
  }
  const libraries = spawnSync('sh', ['-c', 'echo usr/lib/*-linux-gnu*'], { cwd: home })
  const folders = String(libraries.stdout).trim().split(' ')
  return { binary, env: { LD_LIBRARY_PATH: folders.map((folder) => join(home, folder)).join(':') } }
}

function guard(command, env) {
  const home = mkdtempSync(join(tmpdir(), 'perdure-bench-'))
  const shell = spawn('/bin/sh', ['-c', GUARD, 'guard', home, ...command], {
    env: { ...process.env, ...env },
    detached: true, // Ctrl-C is for the bench, which ends the pipe
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.stdin.on('error', () => {})
  shell.unref()
  const stop = () =>
    new Promise((resolve) => {
      shell.once('close', resolve)
      shell.ref()
      shell.stdin.end()
    })
  const ready = async (probe) => {
    const deadline = Date.now() + START_MS_MAX
    while (!(await probe().catch(() => false))) {
      if (Date.now() > deadline) {
        await stop()
        throw new Error(`${command[0]} did not start`)
      }
      await sleep(50)
    }
  }
  return { ready, stop }
}

async function freePorts(count) {
  const probes = Array.from({ length: count }, () => createServer())
  await Promise.all(
    probes.map((probe) => new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve))),
  )
  const ports = probes.map((probe) => probe.address().port)
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))))
  return ports
}
