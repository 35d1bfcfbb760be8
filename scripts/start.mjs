// npm start [-- --once] [--no-seed] [--port <port>] [--db postgres://…] [--data <directory>]
//
// Installs and builds what is missing, then runs the demo in this very process: killing it kills the demo, and
// nothing stays behind with the lock of the embedded database.

import { readFileSync } from 'node:fs'
import { bootstrap, failWith } from './bootstrap.mjs'

const { built } = await bootstrap({ isForTests: false }).catch(failWith)
if (!built) failWith(new Error('The sources do not compile: the messages are above.'))
watchAncestors()
const { runDemo } = await import('../examples/demo/demo.mjs')
await runDemo(process.argv.slice(2)).catch((error) => {
  const next = error.hint ? `\n  next: ${error.hint}` : ''
  failWith(new Error(`${error.message}${error.code ? ` [${error.code}]` : ''}${next}`))
})

/** npm that is killed hard leaves its shell and us behind. Then nobody watches any more: stop as if asked to. */
function watchAncestors() {
  if (!process.env.npm_lifecycle_event) return
  const ancestors = () => [process.ppid, parentOf(process.ppid)].join()
  const before = ancestors()
  const timer = setInterval(() => {
    if (ancestors() === before) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, 250)
  timer.unref()
}

function parentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')[1]
  } catch {
    return ''
  }
}
