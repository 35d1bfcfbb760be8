// 8. A chat: documents are the conversation, tokens stream while the step runs, one run per conversation.

import { createEngine, document, typed, workflow } from 'perdure'
import { z } from 'zod'
import { llm } from './services.js'

export const Message = document(
  'Message',
  z.object({ role: z.enum(['user', 'assistant']), text: z.string() }),
)

export const chat = workflow(
  'chat',
  {
    input: z.object({ user: z.string() }),
    signals: { message: z.object({ text: z.string().min(1) }), close: typed<void>() },
    stream: typed<{ token: string }>(),
  },
  async (wf, input) =>
    wf.loop('turns', { turns: 0 }, async (wf, { turns }) => {
      const next = await wf.waitFor(['message', 'close'], { timeout: '30d', orNull: true })
      if (next === null || next.name === 'close') return wf.done({ user: input.user, turns })
      await wf.documents.save(Message, { role: 'user', text: next.payload.text })
      const history = (await wf.documents.all(Message)).map((m) => m.content)
      const text = await wf.do(
        'answer',
        (step) =>
          llm.answer(history, { signal: step.signal, onToken: (token) => step.publish({ token }) }),
        { retry: 2, timeout: '2m' },
      )
      await wf.documents.save(Message, { role: 'assistant', text })
      return { turns: turns + 1 }
    }),
)

const engine = await createEngine({ workflows: [chat] })
export async function onUserMessage(
  conversation: string,
  user: string,
  text: string,
  messageId: string,
) {
  const run = await engine.start(
    chat,
    { user },
    { id: `chat:${conversation}`, message: { name: 'message', payload: { text }, id: messageId } },
  )
  for await (const chunk of run.stream()) process.stdout.write(chunk.value.token)
  await run.signal('close')
}
const lines = (await engine.documents('chat:1', Message)).map(
  (m) => `${m.content.role}: ${m.content.text}`,
)
console.log(lines)
