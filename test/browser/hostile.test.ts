// What others have typed, and pages of others: whatever they try, text stays text and nothing happens to a run.

import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Page, Request } from 'playwright-core'
import { afterAll, afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createEngine, workflow } from '../../src/index.js'
import { describeInBrowser, go, studioWith } from './studio.js'

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '</script><script>alert(1)</script>',
  'javascript:alert(1)',
  '<svg onload=alert(1)>',
  '{{constructor.constructor("alert(1)")()}}',
  '@import url(//evil.example/x.css)',
  '![x](https://evil.example/x.png)',
  '[click](javascript:alert(1))',
]
const hostile = workflow('hostile', {}, async (wf, input: unknown) => {
  for (const [index, text] of HOSTILE.entries()) await wf.do(`step ${index} ${text}`, () => text)
  await wf.documents.save('text', { text: HOSTILE.join('\n\n') })
  await wf.do(HOSTILE[0] ?? '', () => {
    throw Object.assign(new Error(HOSTILE.join(' ')), { input })
  })
})
/** What only markup or a script could have made. */
const MARKUP = 'img, script:not([src]), [onerror], [onload], a[href^="javascript"]'
const TABS = ['timeline', 'diagram', 'journal', 'data', 'documents', 'errors']

/** Text that a shell would act upon. */
const SHELL = `it's $(touch pwned) \`touch pwned\` "; touch pwned #`
const quoted = workflow(
  'quoted',
  { input: z.object({ note: z.enum([SHELL, 'nothing']) }) },
  async () => {},
)
/** Waits until it is cancelled; shows where links lead to. */
const patient = workflow('patient', {}, async (wf, input: { link: string }) => {
  await wf.documents.save('text', { text: `[out](${input.link}?document)` })
  await wf.waitFor('go')
})

const FORMULA = `=cmd|' /C calc'!A0`

/** A site of somebody else, in the same browser: another origin, and another site than 127.0.0.1. */
async function foreignSite(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<title>foreign</title><p>foreign ${url.replaceAll(/\W/g, '')}</p>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://localhost:${(server.address() as AddressInfo).port}` }
}

/** Each sends the request as a page of somebody else can; code of that page. */
const form = (enctype: string): string => `{
  const form = document.createElement('form')
  Object.assign(form, { method: 'POST', action: url, enctype: '${enctype}', target: 'hidden' })
  form.innerHTML = '<input name="{}" value="">'
  const frame = document.createElement('iframe')
  frame.name = 'hidden'
  document.body.replaceChildren(frame, form)
  form.submit()
}`
const FORGERIES: Readonly<Record<string, string>> = {
  'a form': form('application/x-www-form-urlencoded'),
  'a form of plain text': form('text/plain'),
  'a form with files': form('multipart/form-data'),
  'fetch without cors': `fetch(url, { method: 'POST', mode: 'no-cors', body: '{}', credentials: 'include' }).catch(() => {})`,
  'fetch with JSON': `fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }).catch(() => {})`,
  'a beacon': `navigator.sendBeacon(url, new Blob(['{}'], { type: 'text/plain' }))`,
}

describeInBrowser('what others try on the Studio', () => {
  let foreign: Awaited<ReturnType<typeof foreignSite>>
  const studio = studioWith(async () => {
    foreign = await foreignSite()
    const workflows = [hostile, quoted, patient]
    const engine = await createEngine({ database: 'memory:', workflows })
    await engine.start(patient, { link: `${foreign.url}/value` }, { id: 'victim' })
    const tags = { note: HOSTILE[0] ?? '' }
    await engine.run(hostile, { [HOSTILE[3] ?? '']: HOSTILE }, { id: 'bad-1', tags })
    return engine
  })
  let page: Page
  let problems: readonly string[] = []
  afterAll(() => {
    foreign?.server.closeAllConnections()
    foreign?.server.close()
  })
  const open = async (path: string) => {
    const opened = await studio.open(path, { permissions: ['clipboard-read', 'clipboard-write'] })
    problems = opened.problems
    page = opened.page
    return page
  }
  afterEach(() => page.context().close())

  test('[B130] values of users are text, whatever they look like, in every panel', async () => {
    await open('/runs')
    await page.getByRole('link', { name: 'bad-1' }).waitFor()
    for (const tab of TABS) {
      await go(page, `/runs/bad-1?tab=${tab}`)
      await page.getByRole('tabpanel').getByText('onerror=alert(1)').first().waitFor()
      const made = await page.locator(MARKUP).count()
      expect([tab, made]).toEqual([tab, 0])
    }
    expect(problems).toEqual([])
  })

  test('[B131] a page of somebody else cannot put the Studio, or the API, into a frame', async () => {
    await open(`${foreign.url}/framing`)
    const shown = async (src: string): Promise<string> => {
      const frame = page.locator('iframe')
      await page.evaluate(`new Promise((resolve) => {
        const made = document.createElement('iframe')
        made.onload = resolve
        made.src = ${JSON.stringify(src)}
        document.body.replaceChildren(made)
      })`)
      const inner = await (await frame.elementHandle())?.contentFrame()
      return (await inner?.locator('body').textContent()) ?? ''
    }
    // A page that may be framed is: it is not this test that keeps them out.
    expect(await shown(`${foreign.url}/own`)).toBe('foreign own')
    for (const path of ['/', '/runs/victim', '/api/v1/runs', '/assets/none.js']) {
      expect([path, await shown(studio.url + path)]).toEqual([
        path,
        expect.not.stringMatching(/Perdure|victim|foreign/),
      ])
    }
    expect(problems.filter((one) => one.includes('frame-ancestors')).length).toBeGreaterThan(2)
  })

  test('[B132] a page of somebody else cannot cancel a run, in any way that a browser has', async () => {
    await open(`${foreign.url}/forging`)
    const url = `${studio.url}/api/v1/runs/victim/cancel`
    for (const [name, forge] of Object.entries(FORGERIES)) {
      const answered = new Promise<number | string>((resolve) => {
        const told = async (request: Request) =>
          request.url() === url && resolve((await request.response())?.status() ?? 'kept back')
        page.once('requestfinished', told)
        page.once('requestfailed', told)
      })
      await page.evaluate(`{ const url = ${JSON.stringify(url)}; ${forge} }`)
      // A browser keeps back what it would not show to that page, or does not send it at all.
      const refused = name.includes('form') ? [403, 415] : [403, 415, 'kept back']
      expect([name, await answered]).toEqual([name, expect.toBeOneOf(refused)])
      page.removeAllListeners('requestfinished').removeAllListeners('requestfailed')
    }
    expect(await studio.engine.get('victim')).toMatchObject({ status: 'waiting' })
    // The same request is taken from where it belongs.
    await page.goto(`${studio.url}/runs/victim`)
    const own = `fetch(${JSON.stringify(url)}, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })`
    const status = await page.evaluate(`${own}.then(({ status }) => status)`)
    expect(status).toBeLessThan(300)
  })

  test('[B133] a link of a user opens a page that cannot reach back, and is not told where it came from', async () => {
    await open('/runs/victim?tab=data')
    for (const [tab, name] of [
      ['data', `${foreign.url}/value`],
      ['documents', 'out'],
    ] as const) {
      await page.goto(`${studio.url}/runs/victim?tab=${tab}`)
      const [popup] = await Promise.all([
        page.waitForEvent('popup'),
        page.getByRole('tabpanel').getByRole('link', { name }).click(),
      ])
      await popup.getByText('foreign value').waitFor()
      expect(await popup.evaluate('[window.opener, document.referrer]')).toEqual([null, ''])
      await popup.close()
    }
    expect(problems).toEqual([])
  })

  test('[B135] what is exported is JSON, where a formula is a text in quotes; nothing makes a CSV of it', async () => {
    const nodes = [{ id: 'a', type: 'set' as const, config: { cell: FORMULA } }]
    const edges = [{ from: 'trigger', to: 'a' }]
    await studio.engine.workspace('default').graphs.save({ id: 'cells', nodes, edges })
    await open('/builder/cells')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export as a file' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('cells.json')
    const text = await textOf(await download.createReadStream())
    expect(JSON.parse(text)).toMatchObject({ id: 'cells', nodes, edges })
    expect(text).not.toMatch(/^[=+@-]/m)
    expect(problems).toEqual([])
  })

  test('[B136] a command that is copied gives a shell what it says, and no more', async () => {
    await open('/workflows/quoted')
    const run = promisify(execFile)
    for (const [tab, command] of [
      ['curl', 'curl'],
      ['Command line', 'npx'],
    ] as const) {
      await page.getByRole('tab', { name: tab }).click()
      await page.getByRole('button', { name: 'Copy the code' }).click()
      const copied = String(await page.evaluate('navigator.clipboard.readText()'))
      expect(copied).toContain('touch pwned')
      // A shell reads it; what would be called prints what it was given.
      const script = `touch() { echo PWNED; }; ${command}() { printf '%s\\n' "$@"; }; ${copied}`
      const { stdout, stderr } = await run('/bin/sh', ['-c', script])
      expect([stdout.includes('PWNED'), stderr]).toEqual([false, ''])
      expect(stdout).toContain(JSON.stringify({ note: SHELL }))
    }
    expect(problems).toEqual([])
  })
})
