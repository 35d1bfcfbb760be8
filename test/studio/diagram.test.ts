import { expect, test } from 'vitest'
import { createTestEngine } from '../../src/testing/index.js'
import { graphModel as drawn } from '../../studio/src/diagram/graph-model.js'
import { layoutOf, shapeOf } from '../../studio/src/diagram/layout.js'
import {
  functionModel,
  graphModel,
  machineModel,
} from '../../studio/src/pages/run/diagram/model.js'
import { storyOf } from '../../studio/src/pages/run/model/story.js'
import { batch, leads, press, review, WORKFLOWS } from '../browser/world.js'

test('the diagrams of a machine, a graph and a function show where a run has been and where it is', async () => {
  await using engine = await createTestEngine({ workflows: WORKFLOWS })
  press.isBroken = true
  await engine.start(review, { topic: 'bees' }, { id: 'rev-1' })
  await engine.start(leads, { id: 'l-1', email: 'bob@acme.example' }, { id: 'lead-1' })
  await engine.start(batch, { size: 2 }, { id: 'batch-1' })
  await engine.settle()
  await engine.trigger('rev-1', 'approve', { by: 'ada' })
  await engine.settle()

  const run = await engine.get('rev-1')
  const { items } = await engine.history('rev-1')
  const machine = machineModel(engine.describe(review), items, {
    place: run?.place ?? null,
    status: run?.status ?? 'failed',
    error: run?.error ?? null,
  })
  const stateOf = (id: string) => machine.nodes.find((node) => node.id === id)?.state
  expect(['reviewing', 'printing', 'end'].map(stateOf)).toEqual(['done', 'failed', 'unseen'])
  const labels = (isWay: boolean) =>
    machine.edges.filter(({ isTaken = false }) => isTaken === isWay).map(({ label }) => label)
  expect(labels(true)).toEqual([
    expect.stringMatching(/^write · \d+ ms$/),
    expect.stringMatching(/^approve · \d+ ms$/),
  ])
  expect(labels(false)).toContainEqual(expect.stringMatching(/^print · \d+ ms · ▲ 1$/))
  expect(machine.nodes.map(({ id, ms }) => [id, typeof ms])).toContainEqual(['reviewing', 'number'])

  const log = await engine.nodes('lead-1')
  const graph = graphModel(engine.describe(leads).graph, log, Number.POSITIVE_INFINITY)
  const went = graph.edges.filter(({ isTaken }) => isTaken).map(({ from, to }) => `${from} ${to}`)
  expect(went).toEqual(['trigger enriched', 'enriched large', 'large assigned', 'assigned owned'])
  expect(graph.nodes.find(({ id }) => id === 'campaign')?.state).toBe('skipped')

  const story = storyOf((await engine.history('batch-1')).items)
  const fn = functionModel(story, ['item 0', 'refund'])
  expect(fn.nodes.map(({ id, state }) => [id, state])).toEqual([
    ['item 0', 'done'],
    ['item 1', 'done'],
    ['settle', 'waiting'],
    ['refund', 'unseen'],
  ])
  const side = fn.edges.map(({ from, to }) => `${from} → ${to}`)
  expect(side).toEqual(['item 0 → settle', 'item 1 → settle'])
})

test('what a node says moves nothing, so nothing is arranged again; a node, an edge or a place of its own does', () => {
  const graph = {
    id: 'g',
    nodes: [
      { id: 'a', type: 'set', config: { x: 1 } },
      { id: 'b', type: 'set', config: {} },
    ],
    edges: [{ from: 'trigger', to: 'a' }],
  }
  const [a, b] = graph.nodes
  const shape = (changed: object) => shapeOf(drawn({ ...graph, ...changed }))
  const said = { nodes: [{ ...a, config: { x: 2 }, name: 'Other' }, b] }
  expect(shape(said)).toBe(shape({}))
  expect(layoutOf(drawn({ ...graph, ...said } as typeof graph), 'LR')).toEqual(
    layoutOf(drawn(graph), 'LR'),
  )
  const others = [
    { nodes: [a] },
    { nodes: [a, { ...b, type: 'condition' }] },
    { nodes: [a, { ...b, position: { x: 9, y: 9 } }] },
    { edges: [...graph.edges, { from: 'a', to: 'b' }] },
  ]
  for (const other of others) expect(shape(other)).not.toBe(shape({}))
})
