// Runs that earlier versions have stored, continued by the code of today.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EntryKind } from '../../src/model/run.js'
import type { Driver } from '../../src/store/driver.js'
import { openEmbedded } from '../../src/store/driver-embedded/open-embedded.js'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { type Database, describeOn, freshSchema, isFast, urlOf } from '../support/databases.js'
import { type Cut, cutsOf, FOLDER, goOn, journals, writeMissing } from './journals.js'
import { PROGRAMS } from './programs.js'
import { folded, toldBy } from './rows.js'
import { memoryShelf, type Shelf, sqlShelf } from './stages.js'

const ALL = journals()
/** All but those that only tell of a run: `run.diverged`; and `record`, which no style asks for by itself. */
const KINDS: readonly EntryKind[] = [
  ...(['run.created', 'run.completed', 'run.failed', 'run.cancelled', 'run.timed_out'] as const),
  ...(['run.reopened', 'run.stopping', 'step.asked', 'step.completed', 'step.failed'] as const),
  ...(['timer.set', 'timer.fired', 'wait.opened', 'wait.withdrawn', 'message.taken'] as const),
  ...(['child.started', 'child.ended', 'undo.completed', 'undo.failed', 'mark'] as const),
  ...(['record'] as const),
  ...(['scope.ended', 'round.ended'] as const),
]

describeOn(['memory', 'pglite', 'postgres15', 'postgres18'], 'golden journals', (database) => {
  let shelf: Shelf
  let close = async (): Promise<void> => {}

  beforeAll(async () => {
    const opened = await openShelf(database)
    shelf = opened.shelf
    close = opened.close
  })
  afterAll(() => close())

  for (const { version, program: name, lines } of ALL) {
    test(`wherever a worker of ${version} was killed, "${name}" goes on and ends as recorded`, async () => {
      const program = PROGRAMS.find((one) => one.name === name)
      if (!program) throw new Error(`test/golden/programs.ts has no "${name}" any more`)
      const recorded = toldBy(folded(lines))
      const cuts = cutsOf(lines)
      expect(cuts.length).toBeGreaterThanOrEqual(lines.length)
      for (const cut of someOf(cuts, database)) {
        const { tables, repeated } = await goOn(program, cut, shelf)
        expect(toldBy(tables), `killed behind ${cut.title}`).toMatchObject(recorded)
        expect(repeated, `killed behind ${cut.title}`).toEqual([])
      }
    })
  }
})

/** In memory and on one server, all; elsewhere every fifth, and the last: what is stored is the same everywhere. */
function someOf(cuts: readonly Cut[], { name }: Database): readonly Cut[] {
  if (name === 'memory' || name === 'postgres18') return cuts
  return isFast() ? cuts.slice(-2) : cuts.filter((_, i) => (cuts.length - 1 - i) % 5 === 0)
}

describe('golden journals', () => {
  test('are kept of every program, and every kind of fact that a run can be replayed from is in one of them', () => {
    const kept = new Set(ALL.map(({ program }) => program))
    expect(kept).toEqual(new Set(PROGRAMS.map(({ name }) => name)))
    const entries = ALL.flatMap(({ lines }) => folded(lines).journal)
    expect([...new Set(entries.map(({ kind }) => kind))].sort()).toEqual([...KINDS].sort())
  })

  test('are never written a second time: npm run golden refuses and says what to do', async () => {
    const file = join(FOLDER, '0.1/steps.ndjson')
    const before = readFileSync(file, 'utf8')
    const said = await refused('steps', 'a-new-one')
    expect(said).toMatch(
      /^steps: there already, nothing was written\. What stands in test\/golden\/0\.1 /,
    )
    expect(said).toContain('add a program of another name to test/golden/programs.ts')
    expect(await writeMissing(join(FOLDER, '0.1'))).toEqual([])
    expect(readFileSync(file, 'utf8')).toBe(before)
  })
})

/** What it says on stderr; it must exit with 1. */
function refused(...names: readonly string[]): Promise<string> {
  const script = join(FOLDER, '../../scripts/golden.mjs')
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [script, ...names], (error, _, stderr) => {
      if (error?.code === 1) resolve(stderr)
      else reject(new Error(`it exited with ${error?.code ?? 0}: ${stderr}`))
    })
  })
}

async function openShelf(database: Database): Promise<{ shelf: Shelf; close(): Promise<void> }> {
  if (database.name === 'memory') return { shelf: memoryShelf(), close: async () => {} }
  const driver = await openDriver(database)
  const schema = freshSchema()
  const close = async (): Promise<void> => {
    await driver.script(`drop schema ${schema} cascade`)
    await driver.close()
  }
  return { shelf: await sqlShelf(driver, schema), close }
}

function openDriver(database: Database): Promise<Driver> {
  if (database.name !== 'pglite') return openPgDriver({ target: urlOf(database) })
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  return openEmbedded({ directory: null, production: false, allowInProduction: false, log })
}
