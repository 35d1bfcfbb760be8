// Starts that come together go as one request. The first goes at once; what comes while it is under way gathers, and goes when
// its answer is here. Nothing waits for company: a lone start is one ordinary request.
//
// Invariants
//   S1. A start is written down when it is called: what its caller does to the input afterwards changes nothing.
//   S2. Each caller hears of its own start alone, whatever becomes of the others in the request.
//   S3. Only what would be the same run is sent a second time (again.ts), unless the server has refused the request as a whole.
//   S4. A request that takes long holds nobody up: after a second the next ones go beside it.

import { decode } from '../model/codec.js'
import { PerdureError } from '../model/errors.js'
import { isLost, isSame, startAgain, startPatience } from './again.js'
import { bodyText, type Connection, type Problem, path, problemOf } from './connection.js'

/** So many in one request. */
const COUNT_MAX = 500
/** Characters of one request; servers and what stands before them have limits. */
const LENGTH_MAX = 256 * 1024
/** Longer ones go alone: they would hold up the others, and gain nothing. */
const LONE_LENGTH = 32 * 1024
/** So many of these fill a request. */
const LIGHTEST = LENGTH_MAX / COUNT_MAX
/** Requests that are full need not wait for another, up to so many at a time. */
const FULL_AT_ONCE = 4
const LATE_MS = 1_000
const RICH = '~'
/** A start is in a list in an object. */
const LEVELS_AROUND = 2

export type Started = { readonly id: string }
type Fields = Readonly<Record<string, unknown>>

export interface Start {
  readonly workflow: string
  readonly workspace: string | undefined
  /** As the body of a start has them. */
  readonly fields: Fields
}

/** As it was when it was called. */
interface Written extends Pick<Start, 'workflow' | 'workspace'> {
  /** Of its fields. */
  readonly text: string
  /** The second one would be the first. */
  readonly canRepeat: boolean
}

/** One that waits, or is under way. */
interface One extends Written {
  resolve(started: Started): void
  reject(error: unknown): void
}

/** A request acts in one workspace. */
interface Space {
  readonly workspace: string | undefined
  waiting: One[]
  /** What has come since it was last looked whether a request is full: at least `LIGHTEST` for each. */
  weight: number
  flying: number
}

export class Starts {
  private readonly connection: Connection
  private readonly spaces = new Map<string | undefined, Space>()
  /** A server that does not know the route is asked start by start. */
  private isGrouping = true

  constructor(connection: Connection) {
    this.connection = connection
  }

  async start({ workflow, workspace, fields }: Start): Promise<Started> {
    const text = bodyText(present(fields))
    const written = { workflow, workspace, text, canRepeat: isSame(fields) }
    const isLone = text.length > LONE_LENGTH || Object.hasOwn(fields, 'workflow')
    if (!this.isGrouping || isLone) return this.alone(written)
    return new Promise((resolve, reject) => this.add({ ...written, resolve, reject }))
  }

  private add(one: One): void {
    const { workspace } = one
    const space = this.spaces.get(workspace) ?? { workspace, waiting: [], weight: 0, flying: 0 }
    this.spaces.set(workspace, space)
    space.waiting.push(one)
    space.weight += Math.max(one.text.length, LIGHTEST)
    const isFull = space.weight > LENGTH_MAX
    if (isFull) space.weight = 0
    // Those that are called in one go are one request.
    if (isFull || space.waiting.length === 1) queueMicrotask(() => this.flush(space))
  }

  private flush(space: Space): void {
    while (space.waiting.length > 0) {
      const group = fitting(space.waiting)
      const isFull = group.length === COUNT_MAX || group.length < space.waiting.length
      if (space.flying >= (isFull ? FULL_AT_ONCE : 1)) return
      space.waiting = space.waiting.slice(group.length)
      this.fly(space, group)
    }
    if (space.flying === 0) this.spaces.delete(space.workspace)
  }

  private fly(space: Space, group: readonly One[]): void {
    space.flying += 1
    let isCounted = true
    const land = (): void => {
      if (!isCounted) return
      isCounted = false
      space.flying -= 1
      this.flush(space)
    }
    const late = setTimeout(land, LATE_MS)
    const over = (): void => {
      clearTimeout(late)
      land()
    }
    void this.sent(group).then(over, (error: unknown) => {
      for (const one of group) one.reject(error)
      over()
    })
  }

  /** Each caller hears what is theirs. */
  private async sent(group: readonly One[]): Promise<void> {
    const patience = startPatience(this.connection)
    for (let left = group; left.length > 0; ) {
      try {
        const [first] = left
        if (left.length === 1 && first) return first.resolve(await this.alone(first))
        const text = groupText(left)
        if (text === null) return this.apart(left, null)
        return answer(left, await this.together(left, text))
      } catch (error) {
        if (isRefused(error) && left.length > 1) return this.apart(left, error)
        const again =
          isLost(error) && left.length > 1 ? left.filter(({ canRepeat }) => canRepeat) : []
        for (const one of left) if (!again.includes(one)) one.reject(error)
        left = again
        if (left.length === 0) return
        await patience.failed(error, undefined).catch((last: unknown) => {
          for (const one of left) one.reject(last)
          left = []
        })
      }
    }
  }

  /** Nothing of it was started. Which of them it was, or whether there is such a route at all, each finds out. */
  private apart(group: readonly One[], error: unknown): void {
    if (PerdureError.is(error, 'ROUTE_UNKNOWN', 'METHOD_NOT_ALLOWED')) this.isGrouping = false
    for (const one of group) this.alone(one).then(one.resolve, one.reject)
  }

  private async together(group: readonly One[], text: string): Promise<readonly Outcome[]> {
    const { items } = (await this.connection.ask({
      method: 'POST',
      path: '/runs/start',
      text,
      workspace: group[0]?.workspace,
    })) as { items: readonly Outcome[] }
    return items
  }

  private async alone({ workflow, workspace, text, canRepeat }: Written): Promise<Started> {
    const asked = {
      method: 'POST',
      path: path`/workflows/${workflow}/runs`,
      text,
      workspace,
    } as const
    return (await startAgain(this.connection, canRepeat, () =>
      this.connection.ask(asked),
    )) as Started
  }
}

interface Outcome extends Partial<Started> {
  readonly problem?: Problem
}

function answer(group: readonly One[], outcomes: readonly Outcome[]): void {
  for (const [i, one] of group.entries()) {
    const { id, problem } = outcomes[i] ?? {}
    if (id !== undefined) one.resolve({ id })
    else one.reject(problem ? problemOf(problem) : unanswered())
  }
}

const unanswered = (): PerdureError =>
  new PerdureError('SERVER_UNREACHABLE', 'The server said nothing of this start.', {
    hint: 'look whether client and server are of one version; a start with an id may be repeated',
  })

/** As a whole, before anything of it was started: by the server, or by what stands before it and knows other routes only. */
function isRefused(error: unknown): boolean {
  if (isLost(error)) {
    const { status = 0 } = (error as PerdureError).details as { readonly status?: number }
    return status >= 400 && status < 500
  }
  return PerdureError.is(
    error,
    ...(['ROUTE_UNKNOWN', 'METHOD_NOT_ALLOWED', 'REQUEST_INVALID', 'REQUEST_TOO_LARGE'] as const),
  )
}

/** Those that go in one request: at least the first. */
function fitting(waiting: readonly One[]): readonly One[] {
  let [count, length] = [0, 0]
  for (const { text } of waiting) {
    length += text.length
    if (count > 0 && (count >= COUNT_MAX || length > LENGTH_MAX)) break
    count += 1
  }
  return waiting.slice(0, count)
}

/** Put together of what is written; where JSON is not enough for one of them, all are written once more. null: they cannot be, together. */
function groupText(group: readonly One[]): string | null {
  if (group.some(({ text }) => text.startsWith(RICH))) {
    const items = group.map(({ workflow, text }) => ({ workflow, ...(decode(text) as object) }))
    try {
      return bodyText({ items }, LEVELS_AROUND)
    } catch {
      return null
    }
  }
  const items = group.map(({ workflow, text }) => {
    const rest = text === '{}' ? '}' : `,${text.slice(1)}`
    return `{"workflow":${JSON.stringify(workflow)}${rest}`
  })
  return `{"items":[${items.join(',')}]}`
}

/** What is undefined is left out: JSON has no word for it. */
function present(fields: Fields): Fields {
  const { input, ...rest } = fields
  return Object.fromEntries(
    Object.entries(input === undefined ? rest : fields).filter(([, one]) => one !== undefined),
  )
}
