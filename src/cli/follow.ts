// One run, followed live: a line for each fact; questions where it waits for a person and one is there.

import { setTimeout as sleep } from 'node:timers/promises'
import type { RunInfo } from '../index.js'
import { PerdureError } from '../model/errors.js'
import { askPerson, give, type Waiting } from './ask.js'
import type { Talk } from './connect.js'
import { EXIT, type Exit, printError } from './exit.js'
import type { Io } from './io.js'
import { answerCommand, explained, perdure } from './show/commands.js'
import { drawLine, Story } from './show/story.js'
import { json, jsonBlock } from './show/text.js'
import { withClock } from './show/time.js'

export interface Following {
  readonly isJson: boolean
  /** Where the story goes. */
  readonly say: (line: string) => void
  /** A run that waits for a person is not followed any further where nobody can be asked. */
  readonly asks: boolean
  readonly after?: number
}

const LOOK_MS = 100
const LOOK_MAX_MS = 2_000
const SPIN_MS = 100
/** So long an entry may be on its way. */
const TOLD_MS = 3_000
const SPINNER = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
/** What ends by itself within this is waited out. */
const PATIENCE_MS = 60_000
const CHILDREN_DEPTH = 3
/** Nobody but people can change these; said once. */
const STUCK = ['missing-code', 'diverged', 'paused']

/** Behind these a question may be one that nobody waits for any more. */
const MAY_ANSWER = /^(run|message|scope|round)\.|^(wait\.withdrawn|child\.ended)$/

type Ended = 'over' | 'waits' | 'left'

export async function follow(talk: Talk, io: Io, id: string, how: Following): Promise<Exit> {
  const follower = new Follower(talk, io, id, how)
  return follower.all()
}

class Follower {
  private readonly talk: Talk
  private readonly io: Io
  private readonly id: string
  private readonly how: Following
  private story = new Story()
  private readonly stop = new AbortController()
  private end: Ended = 'over'
  private lookMs = LOOK_MS
  private question: AbortController | null = null
  private isInterrupted = false
  /** When something was given to it of which no entry has told yet. */
  private givenAt = Number.NEGATIVE_INFINITY
  private readonly said = new Set<string>()

  constructor(talk: Talk, io: Io, id: string, how: Following) {
    this.talk = talk
    this.io = io
    this.id = id
    this.how = how
  }

  async all(): Promise<Exit> {
    const off = this.io.onInterrupt(() => this.leave('left'))
    const spinning = setInterval(() => this.spin(), SPIN_MS)
    const looking = this.look()
    try {
      await this.entries()
    } finally {
      off()
      clearInterval(spinning)
      this.io.status(null)
      this.leave(this.end)
      await looking
    }
    return this.ended()
  }

  private leave(end: Ended): void {
    if (this.stop.signal.aborted) return
    if (end === 'left') this.isInterrupted = true
    this.end = end
    this.stop.abort()
    this.question?.abort()
  }

  private async entries(): Promise<void> {
    const { signal } = this.stop
    const handle = this.talk.client.handle(await this.workflow(), this.id)
    try {
      for await (const entry of handle.events({ after: this.how.after ?? 0, signal })) {
        if (MAY_ANSWER.test(entry.kind)) this.question?.abort()
        this.lookMs = LOOK_MS
        this.givenAt = Number.NEGATIVE_INFINITY
        const line = this.story.tell(entry, this.io.now())
        if (this.how.isJson) this.how.say(json(entry))
        else if (line) this.how.say(drawLine(line, this.drawn()))
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  private async workflow(): Promise<string> {
    const run = await this.run()
    this.story = new Story(await this.beginningOf(run))
    if (!this.how.isJson) this.how.say(`${run.workflow} ${this.io.paint.bold(run.id)}`)
    return run.workflow
  }

  /** Where a machine is before its first transition. */
  private async beginningOf({ kind, workflow }: RunInfo): Promise<string | null> {
    if (kind !== 'machine') return null
    const { places } = await this.talk.client.describe(workflow)
    return places[0]?.name ?? null
  }

  private drawn() {
    const { paint, isTerminal, width } = this.io
    return { paint, width: isTerminal ? width : null }
  }

  private async run(id = this.id): Promise<RunInfo> {
    const run = await this.talk.client.get(id)
    if (run) return run
    throw new PerdureError('RUN_NOT_FOUND', `There is no run "${id}".`, { hint: '' })
  }

  private spin(): void {
    if (this.question || this.how.isJson || !this.io.isTerminal) return
    const now = this.io.now()
    const frame = SPINNER[Math.floor(now / SPIN_MS) % SPINNER.length]
    this.io.status(`  ${frame} ${this.story.now(now)}`)
  }

  /** Whether it waits for a person: the journal alone does not say. */
  private async look(): Promise<void> {
    const { signal } = this.stop
    while (!signal.aborted) {
      await sleep(this.lookMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      this.lookMs = Math.min(this.lookMs * 2, LOOK_MAX_MS)
      // The stream of entries tells of a server that is gone.
      const waiting = await this.waiting(this.id, CHILDREN_DEPTH).catch(() => null)
      if (waiting === null || signal.aborted) continue
      // What it waits for is told before it is asked for.
      const isTold = this.story.isWaiting && this.io.now() - this.givenAt > TOLD_MS
      if (!isTold && this.how.asks && this.lookMs < LOOK_MAX_MS) continue
      if (this.how.asks && this.io.canAsk && !this.how.isJson) await this.ask(waiting)
      else if (this.how.asks && isForPersonAlone(waiting, this.io.now())) this.leave('waits')
    }
  }

  /** The run, or the child that it waits for, that waits for a person. */
  private async waiting(id: string, depth: number): Promise<Waiting | null> {
    const run = await this.run(id)
    if (run.status !== 'waiting') return null
    if (STUCK.includes(run.reason)) await this.tellWhy(id)
    if (run.reason === 'paused' || run.reason === 'diverged') return null
    if (run.available.length > 0) return run
    for (const child of depth > 0 ? (run.children ?? []) : []) {
      const found = await this.waiting(child.id, depth - 1)
      if (found) return found
    }
    return null
  }

  private async tellWhy(id: string): Promise<void> {
    const { sentence } = await this.talk.client.explain(id)
    if (this.said.has(sentence)) return
    this.said.add(sentence)
    this.io.err(`  ${this.io.paint.yellow('!')} ${withClock(sentence, this.io.now())}`)
  }

  private async ask(waiting: Waiting): Promise<void> {
    const { io, talk } = this
    const question = new AbortController()
    this.question = question
    io.status(null)
    try {
      const answer = await askPerson(io, waiting, question.signal)
      if (answer) {
        this.givenAt = io.now()
        await give(talk.client, waiting, answer)
      }
      if (!answer && !question.signal.aborted) this.leave('left')
    } catch (error) {
      if (!PerdureError.is(error)) throw error
      // Wrong, or too late: it is asked again if it still waits.
      this.givenAt = Number.NEGATIVE_INFINITY
      printError(io, error, false, false)
    } finally {
      this.question = null
      this.lookMs = LOOK_MS
    }
  }

  private async ended(): Promise<Exit> {
    const { io, id, how } = this
    if (this.isInterrupted) {
      io.err(io.paint.dim(`  ${id} goes on without you; follow it again: ${perdure('watch', id)}`))
      return EXIT.interrupted
    }
    const run = await this.run()
    if (how.isJson) how.say(json(run))
    if (this.end === 'waits') return this.waits()
    if (run.status === 'completed') {
      if (!how.isJson && run.output !== undefined) io.out(jsonBlock(run.output, io.width))
      return EXIT.done
    }
    if (!how.isJson) {
      const lines = explained(run, await this.talk.client.explain(id), io.now())
      for (const line of lines) io.err(line)
    }
    return EXIT.failed
  }

  private async waits(): Promise<Exit> {
    const waiting = await this.waiting(this.id, CHILDREN_DEPTH)
    if (!this.how.isJson && waiting) {
      this.io.err(`${waiting.id} waits for a person. Answer it:`)
      for (const offer of waiting.available) this.io.err(`  ${answerCommand(waiting, offer)}`)
    }
    return EXIT.waiting
  }
}

/** Nothing else moves it, or not soon. */
const isForPersonAlone = ({ reason, until }: Waiting, now: number): boolean =>
  reason === 'signal' && (until === null || until.getTime() - now > PATIENCE_MS)
