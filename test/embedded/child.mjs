// A process of its own for the tests: opens a directory with the compiled driver and does one thing.
import { openEmbedded } from '../../dist/store/driver-embedded/open-embedded.js'

const [directory, what, timing = '{}'] = process.argv.slice(2)
/** Resolves when it is on its way: a listener that is slow does not fall behind what has happened. */
const say = (value) =>
  new Promise((resolve) => process.stdout.write(`${JSON.stringify(value)}\n`, resolve))
const quiet = () => {}

const open = () =>
  openEmbedded({
    directory,
    production: false,
    allowInProduction: false,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    timing: JSON.parse(timing),
  })

const doings = {
  /** Opens, says what it costs, and ends. */
  async measure() {
    const from = performance.now()
    const driver = await open()
    await say({ openMs: performance.now() - from, rss: process.memoryUsage.rss() })
    await driver.close()
    process.exit(0)
  },
  /** Opens at a given moment and keeps it open, or says why not. */
  async open() {
    await new Promise((resolve) => setTimeout(resolve, Number(process.env.AT ?? 0) - Date.now()))
    try {
      await open()
      await say({ open: process.pid })
      setInterval(quiet, 1_000)
    } catch (error) {
      await say({ code: error.code, message: error.message })
    }
  },
  /** Writes rows one after the other and says each number once it is committed. */
  async write() {
    const driver = await open()
    await driver.script('create table if not exists notes (n int4 primary key, pad text)')
    const [{ from }] = await driver.query(
      'read',
      'select coalesce(max(n), 0)::int4 as from from notes',
      [],
    )
    for (let n = from + 1; ; n += 1) {
      await driver.query('commit', 'insert into notes values ($1::int4, $2)', [n, 'x'.repeat(500)])
      await say({ n })
    }
  },
  /** Writes a row each time it is spoken to. */
  async obey() {
    const driver = await open()
    await say({ open: process.pid })
    process.stdin.on('data', async () => {
      try {
        await driver.query('commit', "insert into notes values (-1, 'late')", [])
        await say({ wrote: true })
      } catch (error) {
        await say({ sqlState: error.sqlState, cause: error.cause?.code, message: error.message })
      }
      await driver.close()
      process.exit(0)
    })
  },
}

await doings[what]()
