import { expect, test } from 'vitest'
import { createTestEngine } from '../../src/testing/index.js'
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
  const taken = machine.edges.filter(({ isTaken }) => isTaken).map(({ label }) => label)
  expect(taken).toEqual(['write', 'approve'])

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
