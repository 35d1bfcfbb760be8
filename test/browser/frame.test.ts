import { expect, test } from 'vitest'
import { createEngine, workflow } from '../../src/index.js'
import { describeInBrowser, studioWith } from './studio.js'

const hello = workflow('hello', {}, async (wf, input: { name: string }) =>
  wf.do('greet', () => `Hello, ${input.name}!`),
)

describeInBrowser('the frame of the Studio', () => {
  const studio = studioWith(() => createEngine({ database: 'memory:', workflows: [hello] }))

  test('a run that has been started is in the list and on the overview, under a strict policy', async () => {
    const run = await studio.engine.start(hello, { name: 'you' }, { id: 'hello-1' })
    await run.result()
    const { page, problems } = await studio.open('/')
    await page.getByRole('link', { name: /completed/ }).click()
    await page.getByRole('link', { name: 'hello-1' }).click()
    await page.getByRole('main').getByText('completed').first().waitFor()
    expect(new URL(page.url()).pathname).toBe('/runs/hello-1')
    expect(problems).toEqual([])
  })
})
