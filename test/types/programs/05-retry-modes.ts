// 5. The five retry modes of seed 002, and a person pressing Retry.
import {
  createEngine,
  ErrorDocument,
  fatal,
  retryAfter,
  Transition,
  type TransitionContext,
  Workflow,
} from 'perdure'

declare const api: { fetch(o: { signal: AbortSignal }): Promise<{ status: number }> }

@Workflow({ name: 'retry-modes' })
export class RetryModes {
  tries = 0 // belongs to the run, survives failed attempts

  @Transition({ from: 'start', to: 'processing', retry: 3 }) // auto retry: 1 s, 2 s, 4 s
  async fetchData(state: { seen?: number }, ctx: TransitionContext) {
    this.tries += 1
    const { status } = await api.fetch({ signal: ctx.signal })
    if (status === 401) throw fatal('the key is wrong') // no retry helps
    if (status === 429) throw retryAfter(new Error('slow down'), '30s')
    state.seen = ctx.retryCount
  }
  @Transition({ from: 'processing', to: 'deploying', retry: { place: 'error_processing' } }) // custom error place
  async processData() {}
  @Transition({ from: 'error_processing', to: 'deploying', wait: true })
  async handleProcessingError() {}
  @Transition({
    from: 'deploying',
    to: 'analyzing',
    retry: { attempts: 2, place: 'deploy_failed' },
  }) // hybrid
  async deploy() {}
  @Transition({ from: 'deploy_failed', to: 'analyzing', wait: true })
  async retryDeploy(_state: object, payload: { force: boolean }) {
    console.log(payload.force)
  }
  @Transition({ from: 'analyzing', to: 'sending', timeout: 5000, retry: 2 }) // timeout
  async analyzeData() {}
  @Transition({ from: 'sending', to: 'end' }) // manual
  async sendEmail() {
    return 'sent'
  }
}

const engine = await createEngine({ workflows: [RetryModes] })
const run = await engine.start(RetryModes)
await run.trigger('handleProcessingError')
await run.trigger('retryDeploy', { force: true })
const info = await run.get()
if (info.status === 'failed' && info.retryable) {
  console.log(info.error.message)
  await run.retry()
}
for (const document of await engine.documents(run.id, ErrorDocument))
  console.log(document.attempt, document.content.error)
