// perdure check: would the runs that have not ended go on with the code of this folder?

import type { EngineOptions } from '../../index.js'
import type { CheckedShape, CheckReport } from '../../tools/check.js'
import { EXIT } from '../exit.js'
import type { Io } from '../io.js'
import { placeOf, workspaceOf } from '../place.js'
import type { AddCommand } from '../program.js'
import { asked } from './export.js'

/** The options of an engine with the definitions of a folder. */
export type LoadOptions = (folder: string) => Promise<EngineOptions<readonly unknown[]>>

export const checkCommand =
  (load: LoadOptions): AddCommand =>
  ({ io, root, act }) => {
    const command = root
      .command('check')
      .argument('[folder]', 'where the code is', '.')
      .description('replay every run that has not ended, read-only; exit 1 if one would diverge')
    act(command, async ([folder = '.'], options) => {
      const [{ checkLines, checkRuns }, { serverOf }] = await Promise.all([
        import('../../tools/check.js'),
        import('../connect.js'),
      ])
      const { worker: _, retention: __, ...engine } = await load(folder)
      const place = placeOf(io, options)
      const isSaid = options.database !== undefined || engine.database === undefined
      const workspace = workspaceOf(io, options)
      const what = {
        ...engine,
        ...(isSaid && { database: place.database }),
        ...(options.schema !== undefined && { schema: options.schema }),
        workspace: workspace ?? undefined,
      }
      const server = isSaid ? serverOf(io, options) : null
      const report = await (server
        ? checkLines(what, server.lines(asked({ ...UNFINISHED, workspace })))
        : checkRuns(what))
      if (options.json) printLines(io, report)
      else print(io, report)
      return report.diverging > 0 ? EXIT.failed : EXIT.done
    })
  }

const UNFINISHED = { definition: null, ids: null, isCopy: true, isOpenOnly: true } as const

function printLines(io: Io, { shapes, ...sums }: CheckReport): void {
  for (const shape of shapes) io.out(JSON.stringify(shape))
  io.out(JSON.stringify(sums))
}

function print(io: Io, report: CheckReport): void {
  const { runs, diverging, withoutCode, shapes } = report
  const names = shapes.map(({ workflow, version }) =>
    version ? `${workflow}@${version}` : workflow,
  )
  const width = Math.max(0, ...names.map(({ length }) => length))
  const digits = Math.max(0, ...shapes.map((shape) => shape.runs.toLocaleString('en').length))
  for (const [i, shape] of shapes.entries()) {
    const name = (names[i] ?? '').padEnd(width)
    const count = shape.runs.toLocaleString('en').padStart(digits)
    io.out(
      `${mark(io, shape)} ${name}  ${count} ${shape.runs === 1 ? 'run ' : 'runs'}  ${said(shape)}  ${io.paint.dim(`e.g. ${shape.example}`)}`,
    )
    const { difference } = shape
    if (!difference) continue
    io.out(`    recorded  ${difference.recorded}`)
    io.out(`    now       ${difference.found}`)
  }
  if (runs === 0) return io.out('No run is under way: any code may be deployed.')
  const fitting = runs - diverging - withoutCode
  const parts = [
    ...(diverging > 0 ? [`${diverging.toLocaleString('en')} would diverge`] : []),
    ...(withoutCode > 0 ? [`${withoutCode.toLocaleString('en')} have no code here`] : []),
    `${fitting.toLocaleString('en')} fit`,
  ]
  io.out(
    `${runs.toLocaleString('en')} ${runs === 1 ? 'run has' : 'runs have'} not ended: ${parts.join(', ')}.`,
  )
  if (diverging > 0) {
    io.err(
      '  next: guard the change with wf.patched, or give the definition a new version and keep the old one until its runs have ended',
    )
  }
}

function mark({ paint }: Io, { verdict }: CheckedShape): string {
  if (verdict === 'fits') return paint.green('✓')
  return verdict === 'diverges' ? paint.red('✗') : paint.yellow('!')
}

/** Where it stands: what was asked last. */
function said({ verdict, difference, questions }: CheckedShape): string {
  if (difference) return `diverges at question ${difference.position}`
  const last = questions.findLast((text) => !text.startsWith('= ')) ?? null
  const at = last === null ? 'not begun' : `at ${last}`
  return verdict === 'missing-code' ? `no code here, ${at}` : `fits, ${at}`
}
