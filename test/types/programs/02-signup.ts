// 2. Signup with parallel integrations: queued and inline steps, by definition and by name.
import { task, workflow } from 'perdure'
import { crm, mail, segment } from './services.js'

export const createUser = task('createUser', async (input: { email: string }, step) => {
  step.log.info('creating', { email: input.email })
  return { id: `user-${step.key}`, email: input.email }
})
export const sendEmail = task(
  'sendEmail',
  { retry: 5 },
  async (input: { to: string; subject: string }) => mail.send(input.to, input.subject),
)
export const warmCaches = task('warmCaches', async () => 12)
export const tasks = [createUser, sendEmail, warmCaches] as const
declare module 'perdure' {
  interface Register {
    tasks: typeof tasks
  }
}

export const signup = workflow('signup', async (wf, input: { email: string }) => {
  const user = await wf.do(
    'Create user',
    createUser,
    { email: input.email },
    { retries: 3, retryDelay: '5s' },
  )
  const [crmUser, , warmed] = await Promise.all([
    wf.do('Add to CRM', async () => crm.create(user), { retries: 2, retryDelay: '3s' }),
    wf.do('Identify', async () => segment.identify(user), { retries: 2 }),
    wf.do('Warm caches', warmCaches, undefined, { retries: 1 }),
    wf.do('Welcome', 'sendEmail', { to: user.email, subject: 'welcome' }), // the seed's form: typed through Register
  ])
  await wf.sleep('Wait 5 minutes', '5min')
  const verified = await wf.waitFor('verified', { timeout: '1h', orNull: true })
  if (verified === null)
    await wf.do('Remind', sendEmail, { to: user.email, subject: 'please verify' })
  return { userId: user.id, crmId: crmUser.crmId, warmed: warmed + 1 }
})
