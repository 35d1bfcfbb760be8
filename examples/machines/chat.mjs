// A conversation: it listens, answers, and listens again. node examples/machines/chat.mjs, after npm run build.

import { createEngine, MessageDocument, machine } from '../../dist/index.js'

const chat = machine('chat', {
  transitions: {
    open: { to: 'listening' },
    say: {
      from: 'listening',
      to: 'answering',
      wait: true,
      run: async (_state, content, ctx) => {
        await ctx.documents.save(MessageDocument, { role: 'user', content })
      },
    },
    answer: {
      from: 'answering',
      to: 'listening',
      retry: 3,
      timeout: '2min',
      run: async (_state, ctx) => {
        const last = await ctx.documents.find(MessageDocument)
        const content = `You said: ${last?.content.content}`
        await ctx.documents.save(MessageDocument, { role: 'assistant', content })
      },
    },
    close: { from: 'listening', to: 'end', wait: true },
  },
})

const engine = await createEngine({ workflows: [chat], database: 'memory:' })
const run = await engine.start(chat, undefined, { id: 'chat:1' })
for (const text of ['hello', 'goodbye']) await run.signal('say', text)
await run.signal('close')
await run.result()
for (const { content } of await engine.documents('chat:1', MessageDocument)) {
  console.log(`${content.role}: ${content.content}`)
}
await engine.close()
