// A TCP proxy on 127.0.0.1 between a victim and PostgreSQL that knows the wire protocol well enough to cut the
// connection at a commit: before the message reaches the server, or after the server has answered and before the
// answer is passed on; or (mute) the answer never comes and nothing is closed. It can also become a black hole (everything
// stays connected and nothing arrives), let answers wait, and swallow notifications.
//
// Messages: one letter, then a length; only the first one of a client (start-up) has no letter.

import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a message is about, by a part of its text. */
const IS = {
  /** COMMIT of a step's own transaction. */
  commit: (letter, text) => letter === 'Q' && /^commit/i.test(text),
  /** The kernel's commit call. */
  batch: (letter, text) => letter === 'P' && /\.commit_v\d+\(/.test(text),
  claim: (letter, text) => letter === 'P' && text.includes('.claim_v1('),
}

/**
 * `cut`: '<before|after|mute> <commit|batch|claim>'; `times`: how often (default 1), `skip`: how many pass first.
 */
export async function openProxy(serverUrl, { cut = null, times = 1, skip = 0 } = {}) {
  const target = new URL(serverUrl)
  const state = { cut, left: times, skip, cuts: 0, isHole: false, lateMs: null, isMuffled: false }
  state.swallowed = 0
  const sockets = new Set()
  /** With those that are buried. */
  const all = new Set()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      all.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        all.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    pass(client, upstream, state)
    if (state.isHole) for (const socket of [client, upstream]) socket.pause()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = Object.assign(new URL(serverUrl), { port: String(server.address().port) }).href
  return {
    url,
    get cuts() {
      return state.cuts
    },
    /** Notifications that did not arrive. */
    get swallowed() {
      return state.swallowed
    },
    /** Another cut from now on. */
    cut(what, more = {}) {
      Object.assign(state, { cut: what, left: more.times ?? 1, skip: more.skip ?? 0, cuts: 0 })
    },
    /** What is sent meanwhile arrives afterwards, if anybody is still there. */
    hole(isHole) {
      state.isHole = isHole
      for (const socket of sockets) isHole ? socket.pause() : socket.resume()
    },
    /** The connections of this moment stay, and nothing is heard on them any more; new ones are as before. */
    bury() {
      for (const socket of sockets) socket.pause()
      sockets.clear()
    },
    /** Every answer comes so much later: a function that says how many ms, or null. */
    late(lateMs) {
      state.lateMs = lateMs
    },
    muffle(isMuffled) {
      state.isMuffled = isMuffled
    },
    /** All connections of this moment. */
    dropAll() {
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      for (const socket of all) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function pass(client, upstream, state) {
  const reader = makeReader()
  const answer = makeAnswering(client, state)
  /** The answer to this connection's marked message is not passed on. */
  let isDeaf = false
  let isMute = false
  client.on('data', (chunk) => {
    for (const message of reader(chunk)) {
      const when = isDeaf ? null : cutAt(state, message)
      if (when === 'before') {
        client.destroy()
        return
      }
      if (when === 'after' || when === 'mute') isDeaf = true
      if (when === 'mute') isMute = true
      upstream.write(message.bytes)
    }
  })
  upstream.on('data', (chunk) => {
    if (!isDeaf) return answer(chunk)
    // ReadyForQuery ends the answer: what was asked has been done.
    if (!isMute && endsWithReady(chunk)) client.destroy()
  })
}

/** Passes on what the server says: in order, however late. */
function makeAnswering(client, state) {
  const reader = makeReader(true)
  let before = null
  return (chunk) => {
    const messages = reader(chunk)
    const wanted = messages.filter(({ letter }) => letter !== 'A' || !state.isMuffled)
    state.swallowed += messages.length - wanted.length
    const ms = state.lateMs?.() ?? 0
    if (ms === 0 && before === null) {
      for (const { bytes } of wanted) client.write(bytes)
      return
    }
    const mine = Promise.all([before, sleep(ms)]).then(() => {
      for (const { bytes } of wanted) client.write(bytes)
      if (before === mine) before = null
    })
    before = mine
  }
}

function cutAt(state, { letter, bytes }) {
  if (state.cut === null || state.left === 0) return null
  const [when, what] = state.cut.split(' ')
  if (!IS[what](letter, bytes.subarray(5).toString('latin1'))) return null
  if (state.skip > 0) {
    state.skip -= 1
    return null
  }
  state.left -= 1
  state.cuts += 1
  return when
}

/** 'Z', length 5, then the state: I outside, T inside, E in a failed transaction. */
function endsWithReady(chunk) {
  return (
    chunk.length >= 6 &&
    chunk[chunk.length - 6] === 0x5a &&
    chunk.readInt32BE(chunk.length - 5) === 5
  )
}

/** Cuts a stream into messages. */
function makeReader(isServer = false) {
  let rest = Buffer.alloc(0)
  let isStarted = isServer
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const messages = []
    for (;;) {
      const head = isStarted ? 1 : 0
      if (rest.length < head + 4) return messages
      const length = head + rest.readInt32BE(head)
      if (rest.length < length) return messages
      const letter = isStarted ? String.fromCharCode(rest[0]) : ''
      messages.push({ letter, bytes: rest.subarray(0, length) })
      rest = rest.subarray(length)
      isStarted = true
    }
  }
}
