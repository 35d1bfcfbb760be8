import { serve } from '../dist/http/index.js'
import { task } from '../dist/index.js'
import { openEngine } from './perdure.mjs'
import { counts, PAYLOAD, step } from './user-code.mjs'
const engine = await openEngine({ url: process.env.URL_, more: [task('single', () => step())] })
const serving = await serve(engine, { port: 0, rateLimit: false })
console.log(serving.url)
const cpu = () => { const { user, system } = process.cpuUsage(); return user + system }
process.stdin.on('data', () => console.log(JSON.stringify({ cpu: cpu(), steps: counts.steps })))
process.on('SIGTERM', async () => {
  if (process.env.INSIDE) {
    let n = 0
    const lane = async (end) => { while (Date.now() < end) { await (await engine.start('single', { payload: PAYLOAD })).result(); n++ } }
    for (const width of [64, 1000]) {
    await Promise.all(Array.from({ length: width }, () => lane(Date.now() + 1000)))
    n = 0; const a = cpu(); await Promise.all(Array.from({ length: width }, () => lane(Date.now() + 4000)))
    console.error('inside', width, 'µs cpu per run', (cpu() - a) / n, n/4)
    }
  }
  process.exit(0) })
