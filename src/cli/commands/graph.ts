// perdure graph validate, graph render. Of files: neither needs a server.

import { dirname, resolve } from 'node:path'
import type { GraphJson } from '../../index.js'
import { PerdureError } from '../../model/errors.js'
import { importFresh } from '../bundle.js'
import { EXIT, type Exit } from '../exit.js'
import { parsed, readText } from '../input.js'
import type { Io } from '../io.js'
import type { AddCommand, Cli, Common } from '../program.js'
import { graphMermaid, graphText } from '../show/graph.js'
import { json } from '../show/text.js'

type Problems = readonly { readonly path: string; readonly message: string }[]

export const addGraph: AddCommand = (cli) => {
  const graph = cli.root.command('graph').description('checks and draws graphs')
  const { io, act } = cli
  act<object>(
    graph
      .command('validate')
      .description('says everything that is wrong with a graph, each with its path')
      .argument('<file...>', 'JSON, or code that exports graphs'),
    async (files, { json: isJson = false }) => {
      let exit: Exit = EXIT.done
      for (const file of files) {
        const problems = await problemsOf(io, file)
        if (problems.length > 0) exit = EXIT.failed
        tell(io, file, problems, isJson)
      }
      return exit
    },
  )
  addRender(cli, graph)
}

function addRender(cli: Cli, graph: Cli['root']): void {
  const { io, act } = cli
  act<{ readonly mermaid?: boolean }>(
    graph
      .command('render')
      .description('draws a graph')
      .argument('<graph>', 'a file, or the name of a stored graph')
      .option('--mermaid', 'as a flowchart of Mermaid'),
    async ([given = ''], options) => {
      const isFile = /\.(json|[mc]?[jt]s)$/.test(given)
      const graphs = isFile ? await graphsIn(io, given) : [await storedGraph(cli, given, options)]
      for (const one of graphs) {
        if (options.json) io.out(json(one))
        else for (const line of options.mermaid ? graphMermaid(one) : graphText(one)) io.out(line)
      }
      return EXIT.done
    },
  )
}

function tell(io: Io, file: string, problems: Problems, isJson: boolean): void {
  if (isJson) return io.out(json({ file, problems }))
  if (problems.length === 0) return io.out(`${io.paint.green('✓')} ${file}`)
  io.out(
    `${io.paint.red('✗')} ${file}  ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`,
  )
  const width = Math.min(40, Math.max(...problems.map(({ path }) => path.length)))
  for (const { path, message } of problems) io.out(`  ${path.padEnd(width)}  ${message}`)
}

async function problemsOf(io: Io, file: string): Promise<Problems> {
  const { checkGraph } = await import('../../authoring/graph/check.js')
  try {
    const graphs = await graphsIn(io, file)
    return graphs.flatMap((graph) => checkGraph(graph, ownTypes(graph)).problems)
  } catch (error) {
    // Code that makes a wrong graph throws while it is loaded.
    if (!PerdureError.is(error, 'GRAPH_INVALID')) throw error
    return error.details.problems
  }
}

/** Types of users have a dot in their names; what they take is known where they run. */
function ownTypes(graph: unknown): ReadonlySet<string> {
  const { nodes } = (graph ?? {}) as { readonly nodes?: unknown }
  const types = (Array.isArray(nodes) ? nodes : []).map(
    (node) => (node as { type?: unknown } | null)?.type,
  )
  return new Set(
    types.filter((type): type is string => typeof type === 'string' && type.includes('.')),
  )
}

async function graphsIn(io: Io, file: string): Promise<readonly GraphJson[]> {
  if (file.endsWith('.json'))
    return [parsed('The graph', readText(io, 'graph', file), file) as GraphJson]
  readText(io, 'graph', file)
  const path = resolve(io.cwd, file)
  const modules = await importFresh(dirname(path), [path], new Set())
  const made = Object.values((await modules.get(path)?.()) ?? {}).filter(
    (one): one is { readonly json: GraphJson } =>
      typeof one === 'object' && one !== null && (one as { kind?: unknown }).kind === 'graph',
  )
  if (made.length > 0) return made.map((one) => one.json)
  throw new PerdureError('OPTION_INVALID', `${file} exports no graph.`, {
    hint: 'export what graph(…) gives, or give a file of JSON',
  })
}

async function storedGraph({ io }: Cli, name: string, options: Common): Promise<GraphJson> {
  const { connect } = await import('../connect.js')
  const talk = await connect(io, options)
  try {
    const stored = await talk.client.graphs.get(name)
    if (stored) return stored.json
    throw new PerdureError('DEFINITION_UNKNOWN', `There is no stored graph "${name}".`, {
      hint: '',
    })
  } finally {
    await talk.close()
  }
}
