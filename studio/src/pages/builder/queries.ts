// What the builder asks the server for.

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { GraphVersion, RunInfo, StoredGraph } from 'perdure'
import { useEffect, useState } from 'react'
import { api } from '../../api/api.js'
import { type Me, useMe } from '../../api/insight.js'
import type { Graph } from '../../diagram/graph.js'
import type { GraphProblem } from './model/problems.js'
import { type TypeInfo, typesByName } from './model/types.js'

export function useNodeTypes() {
  return useQuery({
    queryKey: ['node-types'],
    queryFn: async () =>
      typesByName((await api().ask<{ items: readonly TypeInfo[] }>({ path: '/node-types' })).items),
    staleTime: 60_000,
  })
}

export interface Stored {
  readonly version: number
  readonly note: string | null
  readonly isArchived: boolean
  /** It belongs to no workspace: who is in one does not change it. */
  readonly isShared: boolean
  readonly graph: Graph
}

const asStored = async (name: string, version?: number): Promise<Stored | null> => {
  const found = await api().client.graphs.get(name, version === undefined ? {} : { version })
  if (found === null) return null
  const { version: no, note, isArchived, workspace, json } = found
  const isShared = workspace === null
  return { version: no, note, isArchived, isShared, graph: json as unknown as Graph }
}

/** null: nobody has saved it yet. `isNew`: somebody has just given it its name. */
export function useStored(name: string, isNew: boolean) {
  return useQuery({
    queryKey: ['graph', name],
    queryFn: () => (isNew ? null : asStored(name)),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

export function useVersion(name: string, version: number | null) {
  return useQuery({
    queryKey: ['graph', name, 'version', version],
    queryFn: () => asStored(name, version ?? undefined),
    enabled: version !== null,
    // What a version says never changes.
    staleTime: Number.POSITIVE_INFINITY,
  })
}

export function useVersions(name: string, isAsked: boolean) {
  return useQuery<readonly GraphVersion[]>({
    enabled: isAsked,
    queryKey: ['graph', name, 'versions'],
    queryFn: async () => (await api().client.graphs.versions(name, { limit: 100 })).items,
  })
}

export function useGraphs() {
  return useQuery<readonly StoredGraph[]>({
    queryKey: ['graphs'],
    queryFn: async () => (await api().client.graphs.list({ limit: 500 })).items,
    refetchInterval: 10_000,
  })
}

export function useRunsOf(name: string) {
  return useQuery<readonly RunInfo[]>({
    queryKey: ['graph', name, 'runs'],
    queryFn: async () => (await api().client.list({ workflow: name, limit: 50 })).items,
    refetchInterval: 2_000,
  })
}

type Role = Me['role']

export const useRole = (): Role | null => useMe().data?.role ?? null

/** Until it is known who asks, the server decides. */
export const mayEdit = (role: Role | null): boolean =>
  role === null || role === 'author' || role === 'admin'

/** The value as it was when it last stood still for so long. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const later = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(later)
  }, [value, ms])
  return settled
}

const NO_PROBLEMS: readonly GraphProblem[] = []

/** With the graph that they are about. null: not known yet. */
export function useProblems(graph: Graph) {
  const settled = useSettled(graph, 250)
  const { data } = useQuery({
    queryKey: ['validate', settled],
    queryFn: async () => {
      const { problems } = await api().client.graphs.validate(settled)
      return { graph: settled, problems }
    },
    enabled: settled.nodes.length > 0,
    placeholderData: keepPreviousData,
    gcTime: 0,
  })
  if (graph.nodes.length === 0) return { graph, problems: NO_PROBLEMS }
  return data ?? null
}

export interface ExpressionCheck {
  readonly ok: boolean
  readonly error: {
    readonly message: string
    readonly hint: string
    readonly position: number | null
  } | null
  readonly known: readonly { readonly name: string; readonly from: string }[]
}

/** What is wrong with an expression while it is being typed, and what it could read. */
export function useExpression(cel: string, graph: Graph, node: string | null, isAsked: boolean) {
  const settled = useSettled(cel, 200)
  const { data } = useQuery({
    queryKey: ['expression', settled, node, graph.nodes, graph.edges],
    queryFn: () =>
      api().ask<ExpressionCheck>({
        method: 'POST',
        path: '/expressions/check',
        body: { cel: settled, graph, ...(node !== null && { node }) },
      }),
    enabled: isAsked,
    retry: false,
    gcTime: 0,
    placeholderData: keepPreviousData,
  })
  return { check: data ?? null, isCurrent: settled === cel }
}
