// An application of NestJS with durable orders: a machine that is given services, a task, a listener, and the Studio below
// /perdure, behind a guard of the application.
//
//   npx tsc -p examples/nestjs && TOKEN=secret node examples/nestjs/dist/main.js
//   curl -X POST http://127.0.0.1:3000/orders/42
//   curl -X POST http://127.0.0.1:3000/orders/42/payment
//   curl -H 'authorization: Bearer secret' http://127.0.0.1:3000/perdure/api/v1/runs
//
// Stop it whenever you like: the orders go on at the next start.

import 'reflect-metadata'
import { pathToFileURL } from 'node:url'
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Injectable,
  Module,
  Param,
  Post,
  UnauthorizedException,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type Engine,
  type EngineEvents,
  Transition,
  type TransitionContext,
  typed,
  Workflow,
} from 'perdure'
import { InjectEngine, OnRun, PerdureModule, Task } from 'perdure/nestjs'

/** A service like any other: its instance is shared, and runs do not store it. */
@Injectable()
export class Warehouse {
  private readonly free = new Map([['tea', 3]])

  reserve(thing: string): number {
    const left = (this.free.get(thing) ?? 0) - 1
    this.free.set(thing, left)
    return left
  }
}

@Injectable()
export class Parcels {
  @Task('send-parcel', { retries: 3, retryDelay: '1s' })
  async sendParcel({ order }: { order: string }) {
    return { tracking: `parcel-${order}` }
  }

  @OnRun('completed', 'order')
  done({ runId, output }: EngineEvents['run.completed']) {
    console.log(`${runId}: ${JSON.stringify(output)}`)
  }
}

interface Sent {
  readonly status: string
  readonly output: { readonly tracking: string }
}

@Workflow({ name: 'order' })
export class Order {
  static input = typed<{ id: string }>()

  /** Belongs to the run: stored with each transition. */
  left = 0

  constructor(private readonly warehouse: Warehouse) {}

  @Transition({ from: 'start', to: 'reserved' })
  async reserve() {
    this.left = this.warehouse.reserve('tea')
  }

  @Transition({ from: 'reserved', to: 'sending', wait: true })
  async paid(_: unknown, _payment: unknown, ctx: TransitionContext<{ id: string }>) {
    await ctx.start('send-parcel', { order: ctx.input.id }, { callback: 'sent' })
  }

  @Transition({ from: 'sending', to: 'end', wait: true, schema: typed<Sent>() })
  async sent(_: unknown, { output }: Sent) {
    return { tracking: output.tracking, left: this.left }
  }
}

@Controller('orders')
export class Orders {
  constructor(@InjectEngine() private readonly engine: Engine) {}

  @Post(':id')
  async create(@Param('id') id: string) {
    await this.engine.start(Order, { id }, { id: `order-${id}` })
    return { id }
  }

  @Post(':id/payment')
  async pay(@Param('id') id: string) {
    await this.engine.signal(`order-${id}`, 'paid', {})
    return { id }
  }
}

@Injectable()
export class Staff implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { authorization } = context.switchToHttp().getRequest().headers
    if (process.env.TOKEN && authorization === `Bearer ${process.env.TOKEN}`) return true
    throw new UnauthorizedException()
  }
}

@Module({
  imports: [PerdureModule.forRoot({ mount: { guards: [Staff], studio: true } })],
  providers: [Warehouse, Parcels, Order],
  controllers: [Orders],
})
export class AppModule {}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const app = await NestFactory.create(AppModule)
  // On SIGTERM the engine gives its runs back before the process ends.
  app.enableShutdownHooks()
  await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
  console.log(`listening at ${await app.getUrl()}`)
}
