// document(), @Document and the built-in types, and the draft of one attempt.

import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { DocumentDraft } from '../../src/authoring/document-draft.js'
import { documentFacts, errorDocument } from '../../src/authoring/documents.js'
import {
  Document,
  document,
  ErrorDocument,
  LinkDocument,
  MarkdownDocument,
  MessageDocument,
  type Schema,
  typed,
} from '../../src/index.js'
import { decode, encode } from '../../src/model/codec.js'
import type { Attempt, DocumentRow } from '../../src/model/program.js'
import { refusalOf } from '../support/world.js'

const note: Schema<{ text: string }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof (value as { text?: unknown }).text === 'string'
        ? { value: value as { text: string } }
        : { issues: [{ message: 'must be a text', path: ['text'] }] },
  },
}
const Note = document('Note', note)

/** An attempt of a run that has these documents. */
function draftOf(rows: readonly DocumentRow[] = [], given: Partial<Attempt> = {}) {
  const attempt = {
    step: 'write',
    number: 2,
    idempotencyKey: 'run/1/write',
    signal: new AbortController().signal,
    now: () => 5_000,
    documents: async () => rows,
    ...given,
  } as unknown as Attempt
  return new DocumentDraft(attempt, 1_000)
}

function row(id: string, text: string, more: Partial<DocumentRow> = {}): DocumentRow {
  const content = encode({ text }, 'a test')
  const of = { type: 'Note', key: null, tags: [], isHidden: false, content }
  return { id, ...of, step: 'before', attempt: 1, at: 1_000, seq: 2, untilSeq: null, ...more }
}

const textsOf = (all: readonly { readonly content: unknown }[]) =>
  all.map(({ content }) => (content as { text: string }).text)

describe('types of documents', () => {
  test('the built-in ones have exactly their names, and say what is wrong with a content', async () => {
    const types = { MessageDocument, MarkdownDocument, LinkDocument, ErrorDocument }
    for (const [name, type] of Object.entries(types)) expect(type.documentName).toBe(name)
    const draft = draftOf()
    await draft.save(MessageDocument, { role: 'user', content: 'hello' })
    await draft.save(MarkdownDocument, { markdown: '# hello' })
    await draft.save(LinkDocument, { url: 'https://x.example' })
    await draft.save(LinkDocument, { url: 'https://x.example', title: 'x' })
    expect(draft.written.map(({ type }) => type)).toEqual([
      'MessageDocument',
      'MarkdownDocument',
      'LinkDocument',
      'LinkDocument',
    ])
    const wrong = { role: 'user', contents: 'hello' } as never
    expect(await refusalOf(draft.save(MessageDocument, wrong))).toMatchObject({
      code: 'PAYLOAD_INVALID',
      message:
        'The content of document "MessageDocument" does not fit its schema: content: must be a text; contents: is not a field of it.',
    })
    expect(await refusalOf(draft.save(ErrorDocument, 'x' as never))).toMatchObject({
      code: 'PAYLOAD_INVALID',
    })
  })

  test.each([
    ['the standard', false],
    ['experimentalDecorators', true],
  ])('@Document stands on a class by %s', async (_, experimentalDecorators) => {
    const code = `
      @Document({ schema }) class Letter { constructor(to) { this.to = to } greeting() { return 'dear ' + this.to } }
      @Document({ name: 'Renamed' }) class Other {}
      @Document() class Plain {}
      return { Letter, Other, Plain }`
    const options = { target: ts.ScriptTarget.ES2022, experimentalDecorators }
    const { outputText } = ts.transpileModule(`function make(Document, schema) {${code}}`, {
      compilerOptions: options,
    })
    const schema = typed<{ to: string }>()
    const make = new Function(`${outputText}; return make`)() as (...args: unknown[]) => {
      Letter: new (to: string) => { to: string; greeting(): string }
      Other: new () => object
      Plain: new () => object
    }
    const { Letter, Other, Plain } = make(Document, schema)
    expect(documentFacts(Letter, 'test')).toMatchObject({ name: 'Letter', schema })
    expect(documentFacts(Other, 'test')).toMatchObject({ name: 'Renamed', schema: null })
    expect(documentFacts(Plain, 'test')).toMatchObject({ name: 'Plain' })
    const draft = draftOf()
    const saved = await draft.save(Letter, new Letter('ada'))
    expect(saved).toMatchObject({ className: 'Letter', content: { to: 'ada' } })
    expect(draft.written.map(({ content }) => decode(content))).toEqual([{ to: 'ada' }])
    // Not of itself: a class does not become the type that it extends.
    class Sub extends Letter {}
    expect(await refusalOf(draft.save(Sub, new Sub('ada')))).toMatchObject({
      code: 'OPTION_INVALID',
    })
  })

  test('a wrong name, schema or type is refused where it is given', async () => {
    const nameInvalid = expect.objectContaining({ code: 'NAME_INVALID' })
    const optionInvalid = expect.objectContaining({ code: 'OPTION_INVALID' })
    expect(() => document('no spaces', note)).toThrow(nameInvalid)
    expect(() => document('Note', {} as never)).toThrow(optionInvalid)
    expect(() => Document({ schema: 5 as never })).toThrow(optionInvalid)
    expect(() => Document({ nam: 'x' } as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_UNKNOWN' }),
    )
    const draft = draftOf()
    for (const type of [undefined, {}, class X {}, () => {}]) {
      expect(await refusalOf(draft.save(type as never, 1 as never))).toMatchObject({
        code: 'OPTION_INVALID',
      })
    }
    expect(await refusalOf(draft.find('no spaces'))).toMatchObject({ code: 'NAME_INVALID' })
  })
})

describe('the documents of one attempt', () => {
  test('are what is stored, with what it has written in its place', async () => {
    const rows = [row('1', 'one', { key: 'a', tags: ['x'] }), row('2', 'two', { isHidden: true })]
    const draft = draftOf([...rows, row('3', 'draft', { type: 'Draft', key: 'a' })])
    await draft.save(Note, { text: 'four' }, { tags: ['x'] })
    await draft.save(Note, { text: 'uno' }, { key: 'a' })
    await draft.save(Note, { text: 'UNO' }, { key: 'a', tags: ['x'] })
    expect(textsOf(await draft.all(Note))).toEqual(['UNO', 'two', 'four'])
    expect(textsOf(await draft.all())).toEqual(['UNO', 'two', 'draft', 'four'])
    expect(textsOf(await draft.all(Note, { tag: 'x' }))).toEqual(['UNO', 'four'])
    expect(textsOf(await draft.all(undefined, { tag: 'y' }))).toEqual([])
    expect(await draft.find(Note, 'a')).toMatchObject({
      className: 'Note',
      key: 'a',
      tags: ['x'],
      content: { text: 'UNO' },
      step: 'write',
      attempt: 2,
      createdAt: new Date(5_000),
    })
    expect(await draft.find('Note', 'b')).toBeNull()
    expect(await draft.find('Draft')).toMatchObject({ id: '3', step: 'before', attempt: 1 })
    expect(await draft.find(Note)).toMatchObject({ content: { text: 'four' } })
    // What replaces a document of the same attempt is the only one that is stored.
    expect(draft.written.map(({ key, content }) => [key, decode(content)])).toEqual([
      [null, { text: 'four' }],
      ['a', { text: 'UNO' }],
    ])
  })

  test('have the same ids when the attempt is executed again, and others at the next', async () => {
    const idsOf = async (given: Partial<Attempt>) => {
      const draft = draftOf([], given)
      const saved = [await draft.save('A', 1), await draft.save('A', 1)]
      expect(draft.written.map(({ id }) => id)).toEqual(saved.map(({ id }) => id))
      return saved.map(({ id }) => id)
    }
    const [one, again, next] = [await idsOf({}), await idsOf({}), await idsOf({ number: 3 })]
    expect(again).toEqual(one)
    expect(new Set([...one, ...next]).size).toBe(4)
  })

  test('are refused by name and path if they cannot be kept', async () => {
    const draft = draftOf()
    expect(await refusalOf(draft.save('Draft', { a: [() => {}] }))).toMatchObject({
      code: 'VALUE_UNSTORABLE',
      message: 'Cannot store the content of document "Draft": .a[0] is a function.',
    })
    expect(await refusalOf(draft.save('Draft', 'x'.repeat(2_000)))).toMatchObject({
      code: 'VALUE_TOO_LARGE',
    })
    expect(await refusalOf(draft.save(Note, { text: 5 } as never))).toMatchObject({
      code: 'PAYLOAD_INVALID',
      message: 'The content of document "Note" does not fit its schema: text: must be a text.',
      details: { issues: [{ message: 'must be a text', path: ['text'] }] },
    })
    for (const options of [{ key: '' }, { tags: 'x' }, { tags: [''] }, { hidden: 1 }, 5]) {
      expect(await refusalOf(draft.save('Draft', 1, options as never))).toMatchObject({
        code: 'OPTION_INVALID',
      })
    }
    expect(await refusalOf(draft.save('Draft', 1, { keys: 'x' } as never))).toMatchObject({
      code: 'OPTION_UNKNOWN',
    })
    expect(await refusalOf(draft.all('Draft', { tag: 5 } as never))).toMatchObject({
      code: 'OPTION_INVALID',
    })
    expect(draft.written).toEqual([])
  })

  test('[R10] can neither be saved nor read when the attempt is over', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const draft = draftOf([], { signal })
    const slow = document('Slow', {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: async (value: unknown) => {
          controller.abort(new Error('too late'))
          return { value }
        },
      },
    })
    await draft.save('A', 1)
    // Its time ran out while its schema was asked.
    await expect(draft.save(slow, 1)).rejects.toThrow('too late')
    await expect(draft.save('A', 2)).rejects.toThrow('too late')
    await expect(draft.find('A')).rejects.toThrow('too late')
    await expect(draft.all()).rejects.toThrow('too late')
    expect(draft.written).toHaveLength(1)
  })

  test('the document of an error has its message, however long that is', () => {
    const { content, ...rest } = errorDocument('it broke', 'e1')
    expect(decode(content)).toEqual({ error: 'it broke' })
    expect(rest).toEqual({ id: 'e1', type: 'ErrorDocument', key: null, tags: [], isHidden: false })
    const long = decode(errorDocument('é'.repeat(10_000_000), 'e1').content) as { error: string }
    expect(long.error.length).toBeLessThan(10_000)
  })
})
