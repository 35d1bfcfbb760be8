// Which entries the end of a round leaves behind, and that nobody misses them.

import { describe, expect, test } from 'vitest'
import { behindReopened, readScript } from '../../src/kernel/replay.js'
import { Behind } from '../../src/kernel/rounds.js'
import type { Entry, EntryKind, EntryMeta } from '../../src/model/run.js'

type Line = readonly [kind: EntryKind, name: string, meta?: EntryMeta]

/** A journal as the kernel writes it: its frame was made anew before the numbers in `anew`. */
function written(lines: readonly Line[], anew: readonly number[] = []): readonly Entry[] {
  const journal: Entry[] = []
  let behind = new Behind([], new Map())
  for (const [i, [kind, name, meta = null]] of lines.entries()) {
    const seq = i + 1
    if (anew.includes(seq)) {
      const loaded = needed(journal)
      behind = new Behind(loaded, readScript(loaded).rounds)
    }
    const occurrence = name === '' ? 0 : 1
    const entry = { kind, name, occurrence, attempt: 1, at: seq, meta, payload: `"${seq}"` }
    if (kind === 'run.reopened') {
      const { name: of = '', occurrence: nth = 1 } = meta ?? {}
      const said = behindReopened(journal.toReversed(), of ? { name: of, occurrence: nth } : null)
      journal.push({ ...entry, seq, meta: { ...meta, behind: said } })
    } else journal.push({ ...behind.noted(entry, seq), seq })
  }
  return journal
}

/** What a store gives back. */
function needed(journal: readonly Entry[]): readonly Entry[] {
  const behind = saidBy(journal)
  const isBehind = (seq: number): boolean =>
    behind.some((first, i) => i % 2 === 0 && first <= seq && seq <= (behind[i + 1] ?? 0))
  return journal.filter(({ seq }) => !isBehind(seq))
}

const saidBy = (journal: readonly Entry[]): readonly number[] =>
  journal.findLast(({ kind }) => kind === 'round.ended' || kind === 'run.reopened')?.meta?.behind ??
  []

const step = (name: string): Line => ['step.completed', name]
const end = (name: string): Line => ['round.ended', name]
const created: Line = ['run.created', '']

describe('the end of a round leaves behind', () => {
  test.each<[string, readonly Line[], readonly number[]]>([
    ['the entries of its round', [created, step('m@1/a'), end('m@1')], [2, 2]],
    [
      'the round before it, with its end',
      [created, step('m@1/a'), end('m@1'), step('m@2/a'), end('m@2')],
      [2, 4],
    ],
    [
      'nothing of what stands beside it',
      [created, step('m@1/a'), step('x'), ['mark', 'p'], step('m@1/b'), end('m@1'), end('m@2')],
      [2, 2, 5, 6],
    ],
    [
      'loops inside of it, with their last ends',
      [created, step('m@1/d@1/a'), end('m@1/d@1'), end('m@1/d@2'), end('m@1')],
      [2, 4],
    ],
    [
      'nothing of a loop that goes on in another one',
      [created, step('m@1/a'), step('m@1/d@1/a'), end('m@1/d@1'), step('n@1/a'), end('n@1')],
      [3, 3, 5, 5],
    ],
    [
      'undos and questions of its round',
      [
        created,
        ['step.asked', 'm@1/a'],
        step('m@1/a'),
        ['undo.completed', 'undo:m@1/s/a'],
        ['step.asked', 'm@1', { target: 'record' }],
        end('m@1'),
      ],
      [2, 5],
    ],
    [
      'no step that is only named so',
      [created, step('to m@1'), step('m@x/1'), step('n@1/a'), step('m@1/a'), end('m@1')],
      [5, 5],
    ],
  ])('%s', (_, lines, behind) => {
    const journal = written(lines)
    expect(saidBy(journal)).toEqual(behind)
    const everywhere = lines.map((_, i) => i + 1)
    expect(saidBy(written(lines, everywhere))).toEqual(behind)
    const { rounds, ...script } = readScript(needed(journal))
    const { rounds: all, ...whole } = readScript(journal)
    expect(script).toEqual(whole)
    for (const [loop, last] of rounds) expect(all.get(loop)).toBe(last)
  })

  test('nothing that was taken back before its number was given to another', () => {
    const behind = new Behind([], new Map())
    const entry = (kind: EntryKind, name: string) =>
      ({ kind, name, occurrence: 1, attempt: 1, at: 0, meta: null, payload: null }) as const
    behind.noted(entry('step.completed', 'm@1/a'), 2)
    behind.noted(entry('step.completed', 'm@1/b'), 3)
    // Its transaction was not committed: another entry has the number, and then it comes again.
    behind.noted(entry('step.completed', 'x'), 3)
    behind.noted(entry('step.completed', 'm@1/b'), 4)
    const { meta } = behind.noted(entry('round.ended', 'm@1'), 5)
    expect(meta).toMatchObject({ behind: [2, 2, 4, 4] })
  })

  test('the longest stretches, if there are too many', () => {
    const lines: Line[] = [created]
    for (let n = 1; n <= 100; n += 1) {
      lines.push(step(`m@${n}/a`), step(`beside ${n}`), end(`m@${n}`))
    }
    lines.push(...Array.from({ length: 20 }, (_, i) => step(`m@101/s${i}`)), end('m@101'))
    const behind = saidBy(written(lines))
    expect(behind).toHaveLength(64)
    expect(behind.slice(-2)).toEqual([301, 321])
    const journal = written(lines, [100, 200, 300])
    expect(readScript(needed(journal))).toEqual(readScript(journal))
  })
})

describe('a run that was re-opened', () => {
  /** "other" failed beside the loop, which went on for a round before the run ended. */
  const lines: readonly Line[] = [
    ...[created, step('m@1/a'), end('m@1'), step('m@2/a')],
    ['step.failed', 'other'],
    ...[step('m@2/b'), end('m@2'), step('x')],
    ['run.failed', '', { name: 'other', occurrence: 1 }],
    ['run.reopened', '', { name: 'other', occurrence: 1 }],
  ]
  const after: readonly Line[] = [step('other'), step('m@2/b'), end('m@2'), step('x')]

  test('has behind it what was so before the failure', () => {
    expect(saidBy(written(lines.slice(0, 8)))).toEqual([2, 4, 6, 6])
    expect(saidBy(written(lines))).toEqual([2, 2])
  })

  test('leaves nothing behind that its re-opening looks at', () => {
    const journal = written([...lines, ...after], [11])
    expect(saidBy(journal)).toEqual([2, 2, 12, 12])
    expect(readScript(needed(journal))).toEqual(readScript(journal))
    expect(readScript(needed(journal)).rounds).toEqual(new Map([['m', 2]]))
  })

  test('has nothing behind it if its failure is too far away', () => {
    const failed = { name: 'other', occurrence: 1 }
    expect(behindReopened(written(lines.slice(0, 4)).toReversed(), failed)).toEqual([])
    expect(behindReopened(written(lines.slice(0, 4)).toReversed(), null)).toEqual([2, 2])
  })
})
