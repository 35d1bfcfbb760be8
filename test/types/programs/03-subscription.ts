// 3. A subscription: one run, one handle. (wf.loop, which keeps its journal short, and trigger: ../later)
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
  },
  async (wf, input: { customer: string; plan: Plan }) => {
    let sub = { month: 0, plan: input.plan, renewsAt: wf.now() }
    for (;;) {
      const message = await wf.waitFor(['change', 'cancel'], {
        timeout: sub.renewsAt,
        orNull: true,
      })
      if (message?.name === 'cancel') return { months: sub.month, reason: message.payload.reason }
      if (message?.name === 'change') sub = { ...sub, plan: message.payload.plan }
      else {
        const month = sub.month + 1
        const { invoice } = await wf.do(
          'charge',
          chargeCard,
          { customer: input.customer, plan: sub.plan, month },
          { retry: { attempts: 5, delay: '1h', maxDelay: '1d' } },
        )
        await wf.do('file', async () => invoice.toUpperCase())
        sub = { ...sub, month, renewsAt: in30Days(sub.renewsAt) }
      }
    }
  },
)

const engine = await createEngine({ workflows: [subscription, chargeCard] })
const sub = await engine.start(
  subscription,
  { customer: 'acme', plan: 'basic' },
  { id: 'sub-acme' },
)
await sub.signal('change', { plan: 'pro' }, { id: 'change-1' })
console.log((await sub.result()).months.toFixed())
