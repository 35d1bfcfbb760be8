// Server-sent events: heartbeats, clients that do not read, how many there may be, and whether they still may listen.

import { streamsFull } from './errors.js'
import { plainText } from './plain.js'
import type { StreamEvent } from './route.js'
import { RICH_TYPE, richText } from './values.js'

export interface StreamSettings {
  readonly streamsMax: number
  readonly heartbeatMs: number
  /** Who asked is asked for again so often. */
  readonly recheckMs: number
  /** A client that has not read for so long, or that so much waits for, is cut. */
  readonly stalledMs: number
  readonly bufferedBytesMax: number
}

const STREAM_SETTINGS: StreamSettings = {
  streamsMax: 200,
  heartbeatMs: 15_000,
  recheckMs: 60_000,
  stalledMs: 60_000,
  bufferedBytesMax: 1024 * 1024,
}
/** Beyond this a stream waits until the client has read. */
const BUFFERED_BYTES = 64 * 1024

type Events = (signal: AbortSignal) => AsyncIterable<StreamEvent>

export class StreamPool {
  private readonly settings: StreamSettings
  private readonly open = new Set<OpenStream>()

  constructor(settings: Partial<StreamSettings> = {}) {
    this.settings = { ...STREAM_SETTINGS, ...settings }
  }

  get count(): number {
    return this.open.size
  }

  opener(request: Request, isStillKnown: () => Promise<boolean>): (events: Events) => Response {
    return (events) => {
      if (this.open.size >= this.settings.streamsMax) throw streamsFull(this.settings.streamsMax)
      const isRich = request.headers.get('accept')?.includes(RICH_TYPE) ?? false
      const stream: OpenStream = new OpenStream(this.settings, isRich, () =>
        this.open.delete(stream),
      )
      this.open.add(stream)
      request.signal?.addEventListener('abort', () => stream.end())
      return new Response(stream.body(events, isStillKnown), {
        headers: {
          'content-type': 'text/event-stream; charset=utf-8',
          // A server that is closing would wait for the next request on it.
          connection: 'close',
        },
      })
    }
  }

  /** All of them end. */
  close(): void {
    for (const stream of this.open) stream.end()
  }
}

class OpenStream {
  private readonly settings: StreamSettings
  private readonly isRich: boolean
  private readonly onEnd: () => void
  private readonly over = new AbortController()
  private readonly timers: NodeJS.Timeout[] = []
  private controller: ReadableStreamDefaultController<Uint8Array> | null = null
  private readAt = performance.now()
  private wake: () => void = () => {}

  constructor(settings: StreamSettings, isRich: boolean, onEnd: () => void) {
    this.settings = settings
    this.isRich = isRich
    this.onEnd = onEnd
  }

  body(events: Events, isStillKnown: () => Promise<boolean>): ReadableStream<Uint8Array> {
    const { heartbeatMs, recheckMs } = this.settings
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller
          this.timers.push(setInterval(() => this.write(': still here\n\n'), heartbeatMs))
          this.timers.push(setInterval(() => void this.recheck(isStillKnown), recheckMs))
          this.write('retry: 1000\n\n')
          void this.pump(events)
        },
        pull: () => {
          this.readAt = performance.now()
          this.wake()
        },
        cancel: () => this.end(),
      },
      { highWaterMark: BUFFERED_BYTES, size: (chunk) => chunk?.byteLength ?? 0 },
    )
  }

  /** `isCut`: what the client has not read is thrown away, and its connection with it. */
  end(isCut = false): void {
    if (this.over.signal.aborted) return
    this.over.abort()
    for (const timer of this.timers) clearInterval(timer)
    this.wake()
    this.onEnd()
    try {
      if (isCut) this.controller?.error(new Error('the client does not read'))
      else this.controller?.close()
    } catch {
      // The client has gone already.
    }
  }

  private async pump(events: Events): Promise<void> {
    try {
      for await (const event of events(this.over.signal)) {
        this.write(this.lines(event))
        await this.untilRead()
        if (this.over.signal.aborted) break
      }
      this.write('event: end\ndata: {}\n\n')
    } catch {
      // Gone, closed, or the database is away: the client comes back with the id of the last event.
    } finally {
      this.end()
    }
  }

  /** One line of data: JSON has no line ends outside of texts, and there they are escaped. */
  private lines({ id, event, data }: StreamEvent): string {
    return `id: ${id}\nevent: ${event}\ndata: ${this.isRich ? richText(data) : plainText(data)}\n\n`
  }

  private write(text: string): void {
    const { controller } = this
    if (!controller || this.over.signal.aborted) return
    controller.enqueue(new TextEncoder().encode(text))
    const waiting = BUFFERED_BYTES - (controller.desiredSize ?? 0)
    const isStalled =
      (controller.desiredSize ?? 0) <= 0 &&
      performance.now() - this.readAt > this.settings.stalledMs
    if (waiting > this.settings.bufferedBytesMax || isStalled) this.end(true)
  }

  private async untilRead(): Promise<void> {
    while (!this.over.signal.aborted && (this.controller?.desiredSize ?? 0) <= 0) {
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
  }

  private async recheck(isStillKnown: () => Promise<boolean>): Promise<void> {
    const isKnown = await isStillKnown().catch(() => false)
    if (!isKnown) this.end()
  }
}
