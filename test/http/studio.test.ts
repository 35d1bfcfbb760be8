// The files of the Studio beside the API, from a folder that stands for a build.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createHandler } from '../../src/http/index.js'
import { serverOf } from './server.js'

const folder = mkdtempSync(join(tmpdir(), 'perdure-studio-'))
const studio = join(folder, 'studio')
mkdirSync(join(studio, 'assets'), { recursive: true })
const PAGE = '<!doctype html><base href="/" /><title>Studio</title>'
writeFileSync(join(studio, 'index.html'), PAGE)
writeFileSync(join(studio, 'assets/index-B7x9Kq2_.js'), 'export {}')
writeFileSync(join(studio, 'favicon.svg'), '<svg/>')
writeFileSync(join(folder, 'secret.txt'), 'not of the Studio')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const token = 'a-token-of-enough-characters'
const server = serverOf({ studio, tokens: [{ token, role: 'viewer' }] })

test('files have their types, what is hashed is kept, and pages have a strict policy', async () => {
  const asset = await server.ask('GET', '/assets/index-B7x9Kq2_.js')
  expect(asset.status).toBe(200)
  expect(asset.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  const icon = await server.ask('GET', '/favicon.svg')
  expect(icon.headers.get('content-type')).toBe('image/svg+xml')
  expect(icon.headers.get('cache-control')).toBe('no-cache')
  const page = await server.ask('GET', '/')
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const policy = page.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
  expect(page.headers.get('x-content-type-options')).toBe('nosniff')
  const etag = page.headers.get('etag') ?? ''
  expect((await server.ask('GET', '/', { headers: { 'if-none-match': etag } })).status).toBe(304)
  const head = await server.ask('HEAD', '/')
  expect([head.status, head.text]).toEqual([200, ''])
})

test.each(['/runs/ord-1.2', '/inbox', '/apiary', '/workflows/order'])(
  '%s is a page of the Studio',
  async (path) => {
    const { status, text } = await server.ask('GET', path)
    expect([status, text]).toEqual([200, PAGE])
  },
)

test.each(['/api/v1/runs', '/api/nothing', '/api', '/metrics', '/openapi.json'])(
  '%s is of the API, and asks who it is',
  async (path) => {
    expect((await server.ask('GET', path)).status).toBe(401)
  },
)

test('an asset that is not there is missing, and nothing outside of the folder is served', async () => {
  expect((await server.ask('GET', '/assets/index-gone1234.js')).status).toBe(404)
  const paths = [
    '/..%2fsecret.txt',
    '/assets/..%2f..%2f..%2fsecret.txt',
    '/%2e%2e/secret.txt',
    '/%00',
    '/%zz',
  ]
  for (const path of paths) {
    const { text } = await server.ask('GET', path)
    expect(text, path).not.toContain('not of the Studio')
  }
  expect((await server.ask('POST', '/inbox', { token })).status).toBe(404)
  expect((await server.ask('GET', '/healthz')).json).toEqual({ status: 'ok' })
})

test('a folder without a page is refused', () => {
  const open = () => createHandler(server.engine, { open: true, studio: folder })
  expect(open).toThrow(/Option "studio" in createHandler cannot be/)
})

test('below a path of an application it has its files and its links there', async () => {
  const handler = createHandler(server.engine, { studio, open: true, basePath: '/perdure' })
  const ask = async (path: string) => await handler(new Request(`http://localhost${path}`))
  for (const path of ['/perdure', '/perdure/', '/perdure/runs/x']) {
    expect(await (await ask(path)).text()).toContain('<base href="/perdure/" />')
  }
  expect(await (await ask('/perdure/assets/index-B7x9Kq2_.js')).text()).toBe('export {}')
  expect((await ask('/runs/x')).status).toBe(404)
})
