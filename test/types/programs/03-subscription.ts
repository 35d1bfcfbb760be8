// 3. A subscription that runs for years: one run, one handle, a journal that does not grow.
import { createEngine, task, typed, workflow } from 'perdure'

type Plan = 'basic' | 'pro'
const chargeCard = task(
  'chargeCard',
  async (input: { customer: string; plan: Plan; month: number }) => ({
    invoice: `${input.customer}-${input.month}`,
  }),
)

const in30Days = (from: Date) => new Date(from.getTime() + 30 * 86_400_000)

export const subscription = workflow(
  'subscription',
  {
    signals: { change: typed<{ plan: Plan }>(), cancel: typed<{ reason: string }>() },
    state: typed<{ plan: Plan; month: number; renewsAt: Date }>(),
  },
  async (wf, input: { customer: string; plan: Plan }) => {
    const end = await wf.loop(
      'renewals',
      { month: 0, plan: input.plan, renewsAt: wf.now() },
      async (wf, sub) => {
        wf.setState(sub)
        const message = await wf.waitFor(['change', 'cancel'], {
          timeout: sub.renewsAt,
          orNull: true,
        })
        if (message?.name === 'cancel')
          return wf.done({ months: sub.month, reason: message.payload.reason })
        if (message?.name === 'change') return { ...sub, plan: message.payload.plan }
        const month = sub.month + 1
        await wf.do(
          'charge',
          chargeCard,
          { customer: input.customer, plan: sub.plan, month },
          { retry: { attempts: 5, delay: '1h', maxDelay: '1d' } },
        )
        return { ...sub, month, renewsAt: in30Days(sub.renewsAt) }
      },
    )
    await wf.do('say goodbye', async () => `bye after ${end.months} months: ${end.reason}`)
    return end
  },
)

const engine = await createEngine({ workflows: [subscription, chargeCard] })
const sub = await engine.start(
  subscription,
  { customer: 'acme', plan: 'basic' },
  { id: 'sub-acme' },
)
const after = await sub.trigger('change', { plan: 'pro' }) // an update: resolves when the run has taken it
console.log(after.state.plan, after.state.month)
