// The files of the Studio, as a build has left them in a folder. They are for anybody who reaches the server: what they show
// comes from the API, which asks who it is.

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Of this package: dist/studio. */
export const STUDIO_FOLDER = fileURLToPath(new URL('../studio', import.meta.url))
const INDEX = 'index.html'
/** Not of the Studio, also where nothing answers to it. */
const OF_THE_API = /^\/(api|hooks|healthz|readyz|metrics|openapi\.json)(\/|$)/
/** The name holds a hash of the content: what it names never changes. */
const HASHED = /^\/assets\/.*[-.][\w-]{8,}\.\w+$/

export const isStudio = (folder: string): boolean => existsSync(join(folder, INDEX))

export class Studio {
  private readonly folder: string
  private readonly basePath: string

  constructor(folder: string, basePath = '') {
    this.folder = resolve(folder)
    this.basePath = basePath
  }

  has(method: string, pathname: string): boolean {
    return (method === 'GET' || method === 'HEAD') && !OF_THE_API.test(pathname)
  }

  /** A path that is no file is a page of the Studio, and the Studio knows which; only assets can be missing. */
  async answer({ method, headers }: Request, pathname: string): Promise<Response> {
    const isAsset = pathname.startsWith('/assets/')
    const file = await this.read(pathname)
    if (file === null && isAsset) return new Response(null, { status: 404, headers: HEADERS })
    const { bytes, name } = file ?? (await this.index())
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    const cached = file !== null && HASHED.test(pathname) ? KEPT : 'no-cache'
    const known = { ...HEADERS, 'cache-control': cached, etag }
    if (headers.get('if-none-match') === etag) {
      return new Response(null, { status: 304, headers: known })
    }
    const type = TYPES[extname(name)] ?? 'application/octet-stream'
    return new Response(method === 'HEAD' ? null : new Uint8Array(bytes), {
      headers: { ...known, 'content-type': type, 'content-length': String(bytes.length) },
    })
  }

  private async index(): Promise<Read> {
    const text = await readFile(join(this.folder, INDEX), 'utf8')
    const mounted = text.replace('<base href="/" />', `<base href="${this.basePath}/" />`)
    return { bytes: Buffer.from(mounted), name: INDEX }
  }

  private async read(pathname: string): Promise<Read | null> {
    const name = decoded(pathname)
    if (name === null || name.includes('\0')) return null
    const path = join(this.folder, name)
    if (!path.startsWith(this.folder + sep)) return null
    try {
      return { bytes: await readFile(path), name }
    } catch {
      return null
    }
  }
}

interface Read {
  readonly bytes: Buffer
  readonly name: string
}

function decoded(pathname: string): string | null {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return null
  }
}

const KEPT = 'public, max-age=31536000, immutable'
const HEADERS = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'",
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
}
