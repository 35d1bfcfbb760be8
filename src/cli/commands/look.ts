// perdure runs, show, watch, explain, documents

import type { JournalEntry, RunInfo } from '../../index.js'
import { runNotFound } from '../../model/errors.js'
import type { Talk } from '../connect.js'
import { EXIT, type Exit } from '../exit.js'
import { type FilterOptions, filterable, filterOf } from '../filter.js'
import { follow } from '../follow.js'
import { whole } from '../input.js'
import type { Io } from '../io.js'
import type { AddCommand, Cli } from '../program.js'
import { explained } from '../show/commands.js'
import { journalTable, runsTable, shownRun } from '../show/run.js'
import { json, jsonBlock } from '../show/text.js'
import { talking } from '../talking.js'
import { watchRuns } from '../watch.js'

const ENTRIES_MAX = 2_000
const PAGE = 500
const RUNS = 20

export const addLook: AddCommand = (cli) => {
  addRuns(cli)
  addShow(cli)
  addWatch(cli)
  addExplain(cli)
  addDocuments(cli)
}

const roomOf = ({ isTerminal, width, paint }: Io) => ({ width: isTerminal ? width : null, paint })

function addRuns(cli: Cli): void {
  const { io, root, act } = cli
  act<FilterOptions & { readonly limit: number }>(
    filterable(root.command('runs').description('lists runs, newest first')).option(
      '--limit <number>',
      'so many',
      whole,
      RUNS,
    ),
    talking(cli, async ({ client }, _, options) => {
      const runs: RunInfo[] = []
      const limit = Math.max(1, options.limit)
      const list = client.list({ ...filterOf(io, options), limit: Math.min(limit, PAGE) } as never)
      let isMore = false
      for await (const run of list) {
        isMore = runs.length === limit
        if (isMore) break
        if (options.json) io.out(json(run))
        runs.push(run)
      }
      if (options.json) return EXIT.done
      if (runs.length === 0) io.err('no runs; perdure start <workflow> makes one')
      else for (const line of runsTable(runs, io.now(), roomOf(io))) io.out(line)
      if (isMore) io.err(io.paint.dim(`and more: --limit ${limit * 10}`))
      return EXIT.done
    }),
  )
}

async function runOf({ client }: Talk, id: string): Promise<RunInfo> {
  const run = await client.get(id)
  if (run === null) throw runNotFound(id)
  return run
}

/** The newest, oldest first. */
async function entriesOf({ client }: Talk, id: string): Promise<readonly JournalEntry[]> {
  const entries: JournalEntry[] = []
  for await (const entry of client.history(id, { order: 'newest', limit: PAGE })) {
    entries.unshift(entry)
    if (entries.length === ENTRIES_MAX) break
  }
  return entries
}

function addShow(cli: Cli): void {
  const { io, root, act } = cli
  act<{ readonly journal?: boolean }>(
    root
      .command('show')
      .description('shows a run: what it did and when, what it waits for, what came of it')
      .argument('<run>')
      .option('--journal', 'every entry of its journal, one in a line'),
    talking(cli, async (talk, [id = ''], options) => {
      const run = await runOf(talk, id)
      const entries = options.json && !options.journal ? [] : await entriesOf(talk, id)
      if (options.json) {
        for (const one of options.journal ? entries : [run]) io.out(json(one))
        return EXIT.done
      }
      const lines = options.journal
        ? journalTable(entries, roomOf(io))
        : shownRun({ run, entries, now: io.now(), width: io.width, paint: io.paint })
      for (const line of lines) io.out(line)
      if (!options.journal && run.finishedAt === null) {
        for (const line of explained(run, await talk.client.explain(id), io.now())) io.out(line)
      }
      return EXIT.done
    }),
  )
}

function addWatch(cli: Cli): void {
  const { io, root, act } = cli
  act<FilterOptions>(
    filterable(
      root
        .command('watch')
        .description('follows a run; without an id, a line for each change of any run')
        .argument('[run]'),
    ),
    talking(cli, async (talk, [id], options): Promise<Exit> => {
      const isJson = options.json === true
      if (id === undefined) return watchRuns(talk, io, filterOf(io, options), isJson)
      await runOf(talk, id)
      return follow(talk, io, id, { isJson, say: io.out, asks: false })
    }),
  )
}

function addExplain(cli: Cli): void {
  const { io, root, act } = cli
  act<object>(
    root
      .command('explain')
      .description('says why a run is not moving, and what to do')
      .argument('<run>'),
    talking(cli, async (talk, [id = ''], { json: isJson }) => {
      const [run, explanation] = [await runOf(talk, id), await talk.client.explain(id)]
      if (isJson) io.out(json(explanation))
      else for (const line of explained(run, explanation, io.now())) io.out(line)
      return EXIT.done
    }),
  )
}

function addDocuments(cli: Cli): void {
  const { io, root, act } = cli
  act<{ readonly type?: string }>(
    root
      .command('documents')
      .description('prints what a run shows to people')
      .argument('<run>')
      .option('--type <name>', 'only those of this type'),
    talking(cli, async ({ client }, [id = ''], { json: isJson, type }) => {
      for (const document of await client.documents(id, type as string)) {
        if (isJson) io.out(json(document))
        else {
          io.out(io.paint.bold(`${document.className} ${document.key ?? ''}`.trim()))
          io.out(jsonBlock(document.content, io.width))
        }
      }
      return EXIT.done
    }),
  )
}
