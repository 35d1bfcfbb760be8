// Helpers take a plain Wf; typed ones fit. Types of a definition can be named.
import { type InputOf, type OutputOf, typed, type Wf, workflow } from 'perdure'
import type { order } from '../programs/01-order.js'
import type { Review } from '../programs/04-approval.js'

async function remind(wf: Wf, who: string) {
  await wf.sleep(`wait for ${who}`, '1d')
  return wf.do(`remind ${who}`, async () => who.length)
}
async function decide(wf: Wf) {
  return wf.waitFor('anything')
}
export const w = workflow(
  'w',
  {
    signals: { go: typed<{ n: number }>() },
    stream: typed<{ t: string }>(),
    state: typed<{ a: 1 }>(),
  },
  async (wf, _i: string) => {
    await decide(wf)
    return remind(wf, 'ada')
  },
)
export const plain = workflow('plain', async (wf) => {
  const x = await wf.waitFor('x', { schema: typed<{ a: number }>() })
  return remind(wf, String(x.a))
})
export const input: InputOf<typeof order> = { id: 'x', amount: 1, email: 'e' }
export const output: OutputOf<typeof order> = { trackingId: 't' }
export const brief: InputOf<typeof Review> = { topic: 't', owner: 'o' }
