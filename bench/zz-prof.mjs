import { startPostgres } from '../test/support/servers.mjs'
import { spawn } from 'node:child_process'
import { Agent, request } from 'node:http'
const server = await startPostgres({ version: 18 })
const child = spawn(process.execPath, ['--cpu-prof', '--cpu-prof-dir=/tmp/prof', 'bench/zz-server.mjs'], { env: { ...process.env, URL_: server.url }, stdio: ['pipe', 'pipe', 'inherit'] })
const url = await new Promise(r => child.stdout.once('data', d => r(String(d).trim())))
const { hostname, port } = new URL(url)
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const body = JSON.stringify({ input: { payload: { text: 'x'.repeat(169) } } })
const call = (path, method='POST', b=body) => new Promise((res, rej) => { const r = request({ agent, hostname, port, method, path, headers: b? { 'content-type': 'application/json', 'content-length': b.length }:{} }, (x) => { x.resume(); x.on('end', res) }); r.on('error', rej); r.end(b) })
const seconds = Number(process.argv[2] ?? 6)
let n = 0; const t0 = Date.now()
const ask = () => new Promise(r => { child.stdout.once('data', d => r(JSON.parse(String(d)))); child.stdin.write('x') })
const lane = async (end) => { while (Date.now() < end) { await call('/api/v1/workflows/single/runs'); n++ } }
await Promise.all(Array.from({ length: 16 }, () => lane(Date.now() + 3000)))
n = 0; const a = await ask(); const t = Date.now()
await Promise.all(Array.from({ length: 64 }, () => lane(t + seconds * 1000)))
const b = await ask()
console.log('per s', n / ((Date.now() - t) / 1000), 'µs cpu per start', (b.cpu - a.cpu) / n, 'steps', b.steps - a.steps)
if (process.env.HEALTH) { const c = await ask(); let m = 0; const l2 = async () => { for (let i = 0; i < 300; i++) { await call('/healthz', 'GET', ''); m++ } }; await Promise.all(Array.from({ length: 64 }, l2)); const d = await ask(); console.log('healthz µs', (d.cpu - c.cpu) / m) }
child.kill('SIGTERM'); await new Promise(r => child.once('exit', r)); await server.stop(); process.exit(0)
