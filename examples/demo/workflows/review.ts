// The review of a document, as a machine: it waits for a person, for a week.

import { Transition, typed, Workflow } from 'perdure'
import { z } from 'zod'

const decision = z.object({ by: z.string(), note: z.string().optional() })

@Workflow({ name: 'review' })
export class Review {
  static input = z.object({ title: z.string() })
  static output = typed<string>()

  @Transition({ to: 'reviewing' })
  async write(_state: unknown, ctx: { input: { title: string } }) {
    return { text: `${ctx.input.title}, first draft` }
  }

  @Transition({ from: 'reviewing', to: 'end', wait: true, schema: decision })
  async approve(state: { text: string }, { by }: z.infer<typeof decision>) {
    return `${state.text}: approved by ${by}`
  }

  @Transition({ from: 'reviewing', to: 'end', wait: true, schema: decision })
  async reject(state: { text: string }, { by, note }: z.infer<typeof decision>) {
    return `${state.text}: rejected by ${by}${note ? `, ${note}` : ''}`
  }

  @Transition({ from: 'reviewing', to: 'end', after: '7 days' })
  async expire() {
    return 'nobody has read it'
  }
}
