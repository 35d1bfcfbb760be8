// perdure workflows, workers, limits

import type { Description, LimitInfo, WorkerInfo } from '../../index.js'
import type { Talk } from '../connect.js'
import { EXIT } from '../exit.js'
import type { Io } from '../io.js'
import type { AddCommand, Cli } from '../program.js'
import { describedLines } from '../show/definition.js'
import { type Column, json, table } from '../show/text.js'
import { ago, span } from '../show/time.js'
import { talking } from '../talking.js'

export const addSystem: AddCommand = (cli) => {
  addWorkflows(cli)
  addWorkers(cli)
  addLimits(cli)
}

function print<T>(
  io: Io,
  items: readonly T[],
  columns: readonly Column<T>[],
  isJson = false,
): void {
  const width = io.isTerminal ? io.width : null
  if (isJson) for (const item of items) io.out(json(item))
  else if (items.length > 0)
    for (const line of table(items, columns, { width, paint: io.paint })) io.out(line)
}

interface Listed {
  readonly items: readonly Description[]
  readonly elsewhere: readonly { readonly name: string; readonly version: string }[]
}

async function definitions({
  ask,
}: Talk): Promise<readonly (Description | Listed['elsewhere'][number])[]> {
  const { items, elsewhere } = (await ask({ path: '/workflows' })) as Listed
  return [...items, ...elsewhere].sort((a, b) => a.name.localeCompare(b.name))
}

function addWorkflows(cli: Cli): void {
  const { io, root, act } = cli
  act<object>(
    root
      .command('workflows')
      .description('lists definitions; with a name, what one is made of')
      .argument('[name]'),
    talking(cli, async (talk, [name], { json: isJson }) => {
      if (name !== undefined) {
        const described = await talk.client.describe(name)
        for (const line of isJson ? [json(described)] : describedLines(described)) io.out(line)
        return EXIT.done
      }
      const all = await definitions(talk)
      if (all.length === 0) io.err('no definitions: no worker is there, and the server has none')
      const columns: readonly Column<(typeof all)[number]>[] = [
        { head: 'workflow', cell: (one) => one.name },
        { head: 'version', cell: (one) => one.version },
        { head: 'kind', cell: (one) => ('kind' in one ? one.kind : 'of a worker') },
        {
          head: '',
          cell: (one) => ('kind' in one ? (one.description ?? '') : ''),
          isFlexible: true,
        },
      ]
      print(io, all, columns, isJson)
      return EXIT.done
    }),
  )
}

function addWorkers(cli: Cli): void {
  const { io, root, act } = cli
  act<object>(
    root.command('workers').description('lists the processes that execute runs'),
    talking(cli, async ({ ask }, _, { json: isJson }) => {
      const { items } = (await ask({ path: '/workers' })) as { items: readonly WorkerInfo[] }
      if (items.length === 0) io.err('no workers: nothing executes runs now')
      const columns: readonly Column<WorkerInfo>[] = [
        { head: 'worker', cell: ({ id }) => id },
        { head: '', cell: ({ isAlive }) => (isAlive ? 'alive' : 'lost') },
        { head: 'runs', cell: ({ runs }) => String(runs), isRight: true },
        { head: 'started', cell: ({ startedAt }) => ago(startedAt, io.now()), isRight: true },
        { head: 'build', cell: ({ build }) => build, isFlexible: true },
        {
          head: 'workflows',
          cell: ({ workflows }) => workflows.map(({ name }) => name).join(', '),
          isFlexible: true,
        },
      ]
      print(io, items, columns, isJson)
      return EXIT.done
    }),
  )
}

function addLimits(cli: Cli): void {
  const { io, root, act } = cli
  act<object>(
    root.command('limits').description('lists limits: what is allowed, used, and waited for'),
    talking(cli, async ({ ask }, _, { json: isJson }) => {
      const { items } = (await ask({ path: '/limits' })) as { items: readonly LimitInfo[] }
      if (items.length === 0) io.err('no limits')
      const columns: readonly Column<LimitInfo>[] = [
        { head: 'limit of', cell: ({ kind }) => kind },
        { head: 'workflow', cell: ({ workflow }) => workflow ?? '' },
        { head: 'name', cell: ({ name }) => name ?? '', isFlexible: true },
        { head: 'at once', cell: ({ limit }) => String(limit ?? ''), isRight: true },
        { head: 'rate', cell: ({ rate }) => (rate ? `${rate.runs} in ${span(rate.perMs)}` : '') },
        { head: 'used', cell: ({ used }) => String(used), isRight: true },
        { head: 'waiting', cell: ({ waiting }) => String(waiting), isRight: true },
      ]
      print(io, items, columns, isJson)
      return EXIT.done
    }),
  )
}
