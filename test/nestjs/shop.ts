// The application that the tests open: orders, with services, a task, a listener, and a guard.

import {
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  Inject,
  Injectable,
  Module,
  UnauthorizedException,
} from '@nestjs/common'
import {
  type Engine,
  type EngineEvents,
  type Step,
  Transition,
  type TransitionContext,
  typed,
  Workflow,
  workflow,
} from 'perdure'
import { InjectEngine, OnRun, PerdureModule, type PerdureOptions, Task } from 'perdure/nestjs'
import { databases, freshSchema } from '../support/databases.js'

@Injectable()
export class Payments {
  readonly charged: string[] = []

  async charge(order: string): Promise<string> {
    this.charged.push(order)
    return `paid-${order}`
  }
}

/** As a recorder of tests is: plain data, that changes. */
export interface Outbox {
  readonly mails: string[]
}
export const OUTBOX = 'OUTBOX'

@Workflow({ name: 'order' })
export class Order {
  static input = typed<{ id: string }>()

  notes: string[] = []
  receipt = ''
  readonly #payments: Payments

  constructor(
    private readonly payments: Payments,
    @Inject(OUTBOX) private readonly outbox: Outbox,
  ) {
    this.#payments = payments
  }

  @Transition({ from: 'start', to: 'packing' })
  async pay(_: unknown, ctx: TransitionContext<{ id: string }>) {
    this.receipt = await this.payments.charge(ctx.input.id)
    this.notes.push(`${ctx.input.id}: paid`)
    this.outbox.mails.push(`receipt ${this.receipt}`)
  }

  @Transition({ from: 'packing', to: 'end', wait: true, schema: typed<{ by: string }>() })
  async pack(_: unknown, { by }: { by: string }, ctx: TransitionContext<{ id: string }>) {
    this.notes.push(`${ctx.input.id}: packed by ${by}`)
    this.outbox.mails.push(`packed ${ctx.input.id}`)
    const isInjected = this.payments instanceof Payments && this.#payments === this.payments
    return { notes: this.notes, receipt: this.receipt, isInjected }
  }
}

@Injectable()
export class Parcels {
  readonly prefix = 'parcel'

  constructor(private readonly payments: Payments) {}

  @Task('label', { retries: 2, retryDelay: 1 })
  async label({ order }: { order: string }, step: Step) {
    if (step.attempt === 1) throw new Error('the printer is out of paper')
    return `${this.prefix} ${order}, attempt ${step.attempt}, ${this.payments.charged.length} paid`
  }
}

export const ship = workflow('ship', async (wf, order: string) =>
  wf.do('print the label', 'label', { order }),
)
export const fails = workflow('fails', async () => {
  throw new Error('on purpose')
})

@Injectable()
export class Bell {
  readonly heard: string[] = []
  atStart = ''
  private onHeard: (() => void)[] = []

  constructor(@InjectEngine() private readonly engine: Engine) {}

  onModuleInit() {
    try {
      this.engine.about()
    } catch (error) {
      this.atStart = (error as Error).message
    }
  }

  async onApplicationBootstrap() {
    this.heard.push(`open: ${this.engine.definitions().length} definitions`)
  }

  @OnRun('completed', ship)
  shipped({ workflow: name, output }: EngineEvents['run.completed']) {
    this.tell(`${name}: ${output}`)
  }

  @OnRun('failed')
  failed({ workflow: name, error }: EngineEvents['run.failed']) {
    this.tell(`${name}: ${error.message}`)
  }

  async hears(text: string): Promise<string> {
    for (;;) {
      const found = this.heard.find((one) => one.startsWith(text))
      if (found) return found
      await new Promise<void>((resolve) => this.onHeard.push(resolve))
    }
  }

  private tell(text: string) {
    this.heard.push(text)
    for (const resolve of this.onHeard.splice(0)) resolve()
  }
}

@Injectable()
export class Doorman implements CanActivate {
  constructor(private readonly payments: Payments) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest()
    if (!this.payments) throw new Error('a guard without what it needs')
    if (headers['x-badge'] === undefined) throw new UnauthorizedException()
    if (headers['x-badge'] !== 'gold') throw new ForbiddenException('not with this badge')
    return true
  }
}

@Module({ providers: [Payments], exports: [Payments] })
export class MoneyModule {}

/** `open`: the engine of the shop, as PerdureModule gives it. */
export function shopWith(engine: ReturnType<typeof PerdureModule.forRoot>, outbox: Outbox) {
  @Module({
    imports: [MoneyModule],
    providers: [Order, Parcels, Bell, { provide: OUTBOX, useValue: outbox }],
  })
  class OrdersModule {}
  @Module({ imports: [engine, OrdersModule, PerdureModule.forFeature([ship, fails])] })
  class Shop {}
  return Shop
}

/** A database of its own on the server that is there; with --fast there is none, and it is in memory. */
export function quietOptions(): Pick<PerdureOptions, 'log' | 'database' | 'schema'> {
  const silence = () => {}
  const log = { debug: silence, info: silence, warn: silence, error: silence }
  const [server] = databases('postgres18')
  return server?.url
    ? { log, database: server.url, schema: freshSchema() }
    : { log, database: 'memory:' }
}
