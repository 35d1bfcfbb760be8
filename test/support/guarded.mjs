// A server that never outlives the process that started it: a shell waits for the end of a pipe that this process holds
// open; however the process ends, kill -9 included, the shell ends the server and removes its folder.

import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const START_MS_MAX = 60_000
const GUARD = `home=$1; shift; cd "$home"; "$@" >log 2>&1 & pid=$!
trap '' INT TERM HUP; cat >/dev/null; kill -9 $pid 2>/dev/null; wait $pid; cd /; rm -rf "$home"`

/** A folder of its own for a server, which `user` may write. */
export function makeHome(user = {}) {
  const home = mkdtempSync(join(tmpdir(), 'perdure-server-'))
  if (user.uid !== undefined) chownSync(home, user.uid, user.gid)
  return home
}

/** Runs `command` in `home`, as `user`: { uid, gid }, or {}. */
export function guard(command, { env = {}, user = {}, home = makeHome(user) } = {}) {
  const shell = spawn('/bin/sh', ['-c', GUARD, 'guard', home, ...command], {
    ...user,
    cwd: '/',
    env: { ...process.env, ...env },
    detached: true, // Ctrl-C is for those who started it: they end the pipe
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.stdin.on('error', () => {})
  shell.stdin.unref?.()
  shell.unref()
  const end = () =>
    new Promise((resolve) => {
      shell.once('close', resolve)
      shell.ref()
      shell.stdin.end()
    })
  let ending = null
  const stop = () => {
    ending ??= end()
    return ending
  }
  const ready = async (probe) => {
    const deadline = Date.now() + START_MS_MAX
    while (!(await probe().catch(() => false))) {
      if (Date.now() > deadline || shell.exitCode !== null) {
        const said = readFileSync(join(home, 'log'), 'utf8').slice(-1000)
        await stop()
        throw new Error(`${command[0]} did not start:\n${said}`)
      }
      await sleep(50)
    }
  }
  return { ready, stop }
}

export async function freePorts(count) {
  const probes = Array.from({ length: count }, () => createServer())
  await Promise.all(
    probes.map((probe) => new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve))),
  )
  const ports = probes.map((probe) => probe.address().port)
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))))
  return ports
}
