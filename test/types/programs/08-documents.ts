// Documents: what their types say of a content, and every mistake that is refused.
import {
  createEngine,
  Document,
  document,
  ErrorDocument,
  LinkDocument,
  typed,
  workflow,
} from 'perdure'
import { z } from 'zod'

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(proof: Equal<A, B>): void

export const Message = document(
  'Message',
  z.object({ role: z.enum(['user', 'assistant']), text: z.string() }),
)
const Plain = document('Plain', typed<{ n: number }>())

@Document({ name: 'Draft', schema: z.object({ title: z.string() }) })
class DraftDocument {
  title = ''
}

@Document()
class Bare {
  text = ''
}

// @ts-expect-error no such option
@Document({ nam: 'x' })
class Misnamed {}

export const chat = workflow('chat', async (wf) => {
  const saved = await wf.documents.save(Message, { role: 'user', text: 'hello' }, { key: 'k' })
  same<typeof saved.content, { role: 'user' | 'assistant'; text: string }>(true)
  const draft = await wf.documents.save(DraftDocument, { title: 'one' }, { tags: ['a'] })
  same<typeof draft.content, DraftDocument>(true)
  await wf.documents.save(DraftDocument, new DraftDocument())
  await wf.documents.save(Bare, { text: 'x' }, { hidden: true })
  await wf.documents.save('note', { any: 'thing' })
  const found = await wf.documents.find(Plain, 'k')
  same<typeof found, import('perdure').StoredDocument<{ n: number }> | null>(true)
  const [first] = await wf.documents.all(Message, { tag: 'x' })
  first?.content.role satisfies 'user' | 'assistant' | undefined
  for (const { className, createdAt } of await wf.documents.all()) className + createdAt.getTime()
  // @ts-expect-error not a role
  await wf.documents.save(Message, { role: 'robot', text: 'x' })
  // @ts-expect-error a field is missing
  await wf.documents.save(DraftDocument, {})
  // @ts-expect-error it may be null
  ;(await wf.documents.find(Message)).content
  // @ts-expect-error no such option
  await wf.documents.save(Plain, { n: 1 }, { keys: 'k' })
  // @ts-expect-error a number is no type
  await wf.documents.all(5)
  await wf.scope('part', async (inner) => {
    // @ts-expect-error a scope has the same types
    await inner.documents.save(Plain, { n: 'one' })
  })
  return draft.id
})

const engine = await createEngine({ workflows: [chat] })
for (const { attempt, content } of await engine.documents('chat:1', ErrorDocument))
  console.log(attempt, content.error.toUpperCase())
console.log((await engine.documents('chat:1', LinkDocument))[0]?.content.title?.trim())
const { documents } = await engine.run(chat)
same<(typeof documents)[number]['content'], unknown>(true)
for await (const { place, version } of engine.checkpoints('m-1', { limit: 5 }))
  console.log(place.trim(), version + 1)
  // @ts-expect-error documents have a shape
;(await engine.documents('x', Message))[0]?.content.nope
// @ts-expect-error not an option of a page
await engine.checkpoints('x', { first: 5 })

export { Misnamed }
