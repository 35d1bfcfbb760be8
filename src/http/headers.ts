// The headers of a request, as far as they are asked for. Node's adapter would make a Headers of them first, for more than the
// rest of a short request costs.

/** What Node knows of a request beyond the standard, where it is there. */
export interface NodeSide {
  readonly incoming?: {
    readonly rawHeaders?: readonly string[]
    readonly socket?: { readonly remoteAddress?: string | undefined }
  }
}

export interface HeaderReader {
  get(name: string): string | null
}

export function headersOf(request: Request, { incoming }: NodeSide): HeaderReader {
  return incoming?.rawHeaders ? new RawHeaders(incoming.rawHeaders) : request.headers
}

/** Those of one name are joined, as Headers does: what is there twice is not what it says. */
class RawHeaders implements HeaderReader {
  private readonly values = new Map<string, string>()

  constructor(raw: readonly string[]) {
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = String(raw[i]).toLowerCase()
      const before = this.values.get(name)
      const value = String(raw[i + 1])
      this.values.set(name, before === undefined ? value : `${before}, ${value}`)
    }
  }

  get(name: string): string | null {
    return this.values.get(name) ?? null
  }
}
