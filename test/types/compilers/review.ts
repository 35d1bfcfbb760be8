// One class machine, and what happens to a run of it. compilers.test.ts runs this file as each compiler leaves it.

import { Document, Guard, Transition, type TransitionContext, Workflow } from 'perdure'
import type { TestEngine } from 'perdure/testing'

interface Draft {
  text?: string
  rounds?: number
}
type Brief = { topic: string; owner: string }

let decorators = ''
/** A standard decorator is given a context, a legacy one the name. */
function tells(...args: readonly unknown[]): void {
  decorators = typeof args[1] === 'object' ? 'standard' : 'legacy'
}

@Document({ name: 'Version' })
export class Version {
  text = ''
}

@Workflow({ name: 'review' })
export class Review {
  /** Belongs to the run: it is kept between transitions. */
  seen: string[] = []

  @Transition({ to: 'reviewing' })
  async write(state: Draft, ctx: TransitionContext<Brief>): Promise<void> {
    state.rounds = (state.rounds ?? 0) + 1
    state.text = `About ${ctx.input.topic}, version ${state.rounds}`
    const version = new Version()
    version.text = state.text
    await ctx.documents.save(Version, version)
    this.seen = [...this.seen, `round ${state.rounds}`]
  }

  @Transition({ from: 'reviewing', to: 'end', wait: true })
  @Guard('isOwner')
  async approve(state: Draft, by: string): Promise<object> {
    return { text: state.text, by, seen: this.seen }
  }

  @Guard((_state: Draft, by: string) => by !== 'nobody')
  @Transition({ from: 'reviewing', to: 'start', wait: true })
  @Transition({ from: 'shelved', to: 'start', wait: true })
  async reject(): Promise<void> {}

  @Transition({ from: 'reviewing', to: 'shelved', after: '7 days' })
  async shelve(): Promise<void> {}

  @tells
  isOwner(_state: Draft, by: string, ctx: TransitionContext<Brief>): boolean {
    return by === ctx.input.owner
  }
}

/** What a run of it did, as plain values. */
export async function happened(engine: TestEngine): Promise<object> {
  const run = await engine.start('review', { topic: 'bees', owner: 'ada' }, { id: 'r-1' })
  await engine.settle()
  const refused = [
    await codeOf(run.trigger('approve', 'bob')),
    await codeOf(run.trigger('reject', 'nobody')),
  ]
  await run.trigger('reject', 'bob')
  await engine.advance('7 days')
  const { place } = await run.get()
  await run.trigger('reject', 'bob')
  await engine.settle()
  await run.trigger('approve', 'ada')
  const output = await run.result()
  const documents = await engine.documents('r-1', Version)
  const texts = documents.map(({ className, content }) => `${className}: ${content.text}`)
  const isMetadataMade = 'metadata' in Reflect
  return { decorators, refused, place, output, texts, isMetadataMade }
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'taken',
    (error: { code: string }) => error.code,
  )
}
