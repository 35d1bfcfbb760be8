// Standard Schema from three libraries infers the same way.
import { type } from 'arktype'
import { createEngine, workflow } from 'perdure'
import * as v from 'valibot'
import { z } from 'zod'

export const a = workflow(
  'a',
  {
    input: v.object({ id: v.string(), n: v.optional(v.number(), 1) }),
    signals: { go: v.object({ at: v.date() }) },
  },
  async (wf, i) => i.n + (await wf.waitFor('go')).at.getTime(),
)
export const b = workflow(
  'b',
  { input: type({ id: 'string', 'n?': 'number' }), signals: { go: type({ at: 'Date' }) } },
  async (wf, i) => i.id.length + (await wf.waitFor('go')).at.getTime(),
)
export const c = workflow(
  'c',
  {
    input: z
      .object({ id: z.string(), n: z.number().default(1) })
      .transform((x) => ({ ...x, big: BigInt(x.n) })),
    signals: { go: z.object({ at: z.date() }) },
  },
  async (wf, i) => i.big + BigInt((await wf.waitFor('go')).at.getTime()),
)
export const ia: { id: string; n?: number | undefined } = {} as (typeof a)['~types']['input']
export const ic: { id: string; n?: number | undefined } = {} as (typeof c)['~types']['input']
// @ts-expect-error
export const oops: number = {} as (typeof c)['~types']['parsed']
// @ts-expect-error
export const oops2: string = {} as (typeof b)['~types']['output']
// A sender may leave out what has a default; the receiver always has it.
const d = workflow(
  'd',
  { signals: { go: z.object({ n: z.number().default(1) }) } },
  async (wf, _i: string) => (await wf.waitFor('go')).n.toFixed(),
)
const engine = await createEngine({ workflows: [d] })
await (await engine.start(d, 'x')).signal('go', {})
