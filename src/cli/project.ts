// The workflows of a folder: what perdure.config.ts says, else every definition that is exported where workflows are kept.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { madeOf } from '../authoring/definition.js'
import type { HandlerOptions } from '../http/index.js'
import { type Definition, type EngineOptions, graph } from '../index.js'
import { PerdureError } from '../model/errors.js'
import { type Exports, importFresh, type Modules, thrownAt } from './bundle.js'
import { configInvalid, folderMissing, loadFailed, nameTwice } from './project-errors.js'

export interface Project {
  /** Absolute. */
  readonly folder: string
  /** The name of perdure.config.ts, if there is one. */
  readonly config: string | null
  readonly definitions: readonly ProjectDefinition[]
  /** Of perdure.config.ts, without `workflows` and `serve`. */
  readonly options: Omit<ProjectOptions, 'workflows'>
  readonly serve: HandlerOptions
  /** Files and folders: if one of them changes, load it again. */
  readonly watched: readonly string[]
}

export interface ProjectDefinition {
  readonly definition: AnyDefinition
  readonly name: string
  readonly kind: 'function' | 'machine' | 'graph' | 'task'
  /** From the folder. */
  readonly file: string
}

export type AnyDefinition = Definition | (abstract new (...args: never[]) => object)
type ProjectOptions = EngineOptions<readonly AnyDefinition[]>

const CONFIGS = ['ts', 'js', 'mjs'].map((end) => `perdure.config.${end}`)
const FOLDERS = ['workflows', 'src/workflows']
const CODE = /\.(ts|js|mjs|mts)$/
const NOT_CODE = /\.(test|spec|d)\.\w+$/
const NAMED = /\.workflow\.(ts|js|mjs|mts)$/
const GRAPH = /\.graph\.json$/

/** `seen` gets the files and folders that were looked at, also where it throws PROJECT_INVALID. */
/** Where its perdure.config.ts is. */
export function configOf({ folder, config }: Project): string | null {
  return config === null ? null : relative('', join(folder, config))
}

export async function loadProject(given: string, seen = new Set<string>()): Promise<Project> {
  const folder = resolve(given)
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw folderMissing(given)
  seen.add(folder)
  const [config] = configsIn(folder)
  const files = filesOf(folder, seen)
  try {
    const modules = await importFresh(folder, config ? [config, ...files.code] : files.code, seen)
    const configured = config ? readConfig(basename(config), await modules.get(config)?.()) : {}
    const { workflows, serve = {}, ...options } = configured
    const definitions = workflows
      ? listed(workflows, basename(config ?? ''))
      : await found(folder, files, modules)
    const name = config ? basename(config) : null
    return { folder, config: name, definitions, options, serve, watched: [...seen] }
  } catch (error) {
    if (PerdureError.is(error, 'PROJECT_INVALID')) throw error
    throw loadFailed(thrownAt(folder, error) ?? given, error)
  }
}

/** The options of createEngine. */
export const engineOptionsOf = ({ options, definitions }: Project): ProjectOptions => ({
  ...options,
  workflows: definitions.map(({ definition }) => definition),
})

// ── finding ─────────────────────────────────────────────────────────────────────────────────────────────────

/** All that would be loaded now, without loading it. */
export function filesIn(folder: string): readonly string[] {
  const { code, graphs } = filesOf(folder, new Set())
  return [...configsIn(folder), ...code, ...graphs]
}

const configsIn = (folder: string): readonly string[] =>
  CONFIGS.map((name) => join(folder, name)).filter((file) => existsSync(file))

interface Files {
  readonly code: readonly string[]
  readonly graphs: readonly string[]
}

function filesOf(folder: string, seen: Set<string>): Files {
  const kept = FOLDERS.flatMap((name) => below(join(folder, name), seen))
  // Elsewhere only what says so in its name.
  const named = [...entries(folder), ...below(join(folder, 'src'), seen)].filter(
    (file) => NAMED.test(file) || GRAPH.test(file),
  )
  const all = [...new Set([...kept, ...named])].sort()
  for (const file of all) seen.add(file)
  return {
    code: all.filter((file) => CODE.test(file) && !NOT_CODE.test(file)),
    graphs: all.filter((file) => GRAPH.test(file)),
  }
}

const entries = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(folder, name))

function below(folder: string, seen: Set<string>): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return []
  seen.add(folder)
  const folders = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'),
  )
  return [...entries(folder), ...folders.flatMap(({ name }) => below(join(folder, name), seen))]
}

// ── loading ─────────────────────────────────────────────────────────────────────────────────────────────────

function readConfig(
  file: string,
  exported: Exports | undefined,
): ProjectOptions & { readonly serve?: HandlerOptions } {
  const config = exported?.default
  if (typeof config !== 'object' || config === null) throw configInvalid(file, 'no default export')
  return config
}

function listed(workflows: unknown, file: string): readonly ProjectDefinition[] {
  if (!Array.isArray(workflows)) throw configInvalid(file, '"workflows" is not a list')
  return unique(
    workflows.map((value: unknown, i) => {
      const one = definitionOf(value, file)
      if (!one) throw configInvalid(file, `workflows[${i}] is no definition`)
      return one
    }),
  )
}

async function found(
  folder: string,
  { code, graphs }: Files,
  modules: Modules,
): Promise<readonly ProjectDefinition[]> {
  const all: (ProjectDefinition | null)[] = []
  for (const file of code) {
    const exported = Object.values((await modules.get(file)?.()) ?? {})
    all.push(...exported.map((value) => definitionOf(value, relative(folder, file))))
  }
  for (const file of graphs) all.push(graphOf(relative(folder, file), file))
  return unique(all.filter((one) => one !== null))
}

function graphOf(shown: string, file: string): ProjectDefinition | null {
  try {
    return definitionOf(graph(JSON.parse(readFileSync(file, 'utf8'))), shown)
  } catch (error) {
    throw loadFailed(shown, error)
  }
}

function definitionOf(value: unknown, file: string): ProjectDefinition | null {
  const made = madeOf(value)
  if (!made) return null
  const kind = made.kind === 'workflow' ? 'function' : made.kind
  return { definition: value as AnyDefinition, name: made.name, kind, file }
}

/** One that is exported twice is one; two of one name are a mistake. */
function unique(all: readonly ProjectDefinition[]): readonly ProjectDefinition[] {
  const byName = new Map<string, ProjectDefinition>()
  for (const one of all) {
    const known = byName.get(one.name)
    if (known && known.definition !== one.definition) {
      throw nameTwice(one.name, [known.file, one.file])
    }
    byName.set(one.name, known ?? one)
  }
  return [...byName.values()]
}
