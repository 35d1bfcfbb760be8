// What a run waits for, asked at the terminal: which answer, then its fields, one by one.

import type { RemoteClient } from '../client/index.js'
import type { RunInfo } from '../index.js'
import type { Io } from './io.js'
import { type Field, fieldOf, labelOf, readAnswer, shapeOf } from './show/schema.js'

export type Waiting = Extract<RunInfo, { status: 'waiting' }>
export type Offer = Waiting['available'][number]

/** Somebody wants out, or the question is over. */
const LEFT = Symbol('left')
type Left = typeof LEFT

export interface Answer {
  readonly offer: Offer
  readonly payload: unknown
}

/** null: no answer. */
export async function askPerson(io: Io, run: Waiting, signal: AbortSignal): Promise<Answer | null> {
  const offer = await chosen(io, run.available, signal)
  if (offer === LEFT) return null
  const { schema } = offer
  const label = labelOf(schema) ?? offer.name
  const payload = await askField(io, label, fieldOf(schema), {
    signal,
    isRequired: schema !== null,
  })
  return payload === LEFT ? null : { offer, payload }
}

async function chosen(
  io: Io,
  offers: readonly Offer[],
  signal: AbortSignal,
): Promise<Offer | Left> {
  const [first] = offers
  if (first === undefined) return LEFT
  if (offers.length === 1) return first
  const field = { kind: 'choice', values: offers.map(({ name }) => name) } as const
  const name = await askField(io, 'what to send', field, { signal, isRequired: true })
  return offers.find((offer) => offer.name === name) ?? LEFT
}

interface Asking {
  readonly signal: AbortSignal
  readonly isRequired: boolean
  readonly usual?: unknown
}

async function askField(
  io: Io,
  label: string,
  field: Field,
  asking: Asking,
): Promise<unknown | Left> {
  if (field.kind === 'object') return askObject(io, label, field, asking.signal)
  const usual = asking.usual === undefined ? '' : ` [${String(asking.usual)}]`
  const optional = asking.isRequired || field.kind === 'json' ? '' : '(may be left out)'
  const words = [label, shapeOf(field), optional].filter(Boolean).join(' ')
  for (;;) {
    const typed = await io.ask(`  ${io.paint.magenta('?')} ${words}${usual} `, asking.signal)
    if (typed === null) return LEFT
    if (typed.trim() === '' && (asking.usual !== undefined || !asking.isRequired))
      return asking.usual
    const read = readAnswer(field, typed)
    if ('value' in read) return read.value
    io.err(io.paint.dim(`    please: ${read.problem}`))
  }
}

async function askObject(
  io: Io,
  label: string,
  { fields }: Extract<Field, { kind: 'object' }>,
  signal: AbortSignal,
): Promise<unknown | Left> {
  const value: Record<string, unknown> = {}
  for (const { name, label: own, isRequired, usual, field } of fields) {
    const words = own === name ? `${label} · ${name}` : own
    const given = await askField(io, words, field, { signal, isRequired, usual })
    if (given === LEFT) return LEFT
    if (given !== undefined) value[name] = given
  }
  return value
}

/** As the kind of what it takes wants it; the server checks it. */
export async function give(
  client: RemoteClient,
  run: Pick<RunInfo, 'id' | 'workflow' | 'place'>,
  { offer, payload }: Answer,
): Promise<void> {
  if (offer.kind === 'event') {
    await client.send(run.workflow, run.id, {
      type: offer.name,
      ...(payload as object | undefined),
    })
  } else if (offer.kind === 'transition' || run.place !== null) {
    await client.trigger(run.id, offer.name, payload)
  } else await client.signal(run.id, offer.name, payload)
}
