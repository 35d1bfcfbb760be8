// 6. The event machine of seed 004.
import { createEngine, machine, typed } from 'perdure'

export const picking = machine('picking', {
  initial: 'idle',
  context: { assignedTo: null as string | null, items: 0 },
  events: {
    START: typed<{ items: number }>(),
    ASSIGN: typed<{ pickerId: string }>(),
    COMPLETE: typed<object>(),
  },
  states: {
    idle: {
      on: {
        START: {
          target: 'picking',
          actions: ({ context, event }) => {
            context.items = event.items
          },
        },
      },
    },
    picking: {
      timeoutMinutes: 30,
      on: {
        ASSIGN: [
          { guard: ({ context }) => context.items === 0, target: 'done' },
          {
            target: 'assigned',
            actions: [
              ({ context, event }) => {
                context.assignedTo = event.pickerId
              },
            ],
          },
        ],
        TIMEOUT: 'expired',
      },
    },
    assigned: { timeoutMinutes: 60, on: { COMPLETE: 'checking', TIMEOUT: 'expired' } },
    checking: {
      always: [{ guard: ({ context }) => context.items > 100, target: 'expired' }, 'done'],
    },
    expired: { final: true },
    done: {
      final: true,
      entry: ({ context, log }) => {
        log.info('picked', { by: context.assignedTo })
      },
    },
  },
})

const engine = await createEngine({ workflows: [picking] })
engine.on('workflow.transition', (t) => console.log(t.from, t.to, t.event))
await engine.send(picking, 'pick-1', { type: 'START', items: 3 }) // creates it
const sent = await engine.send(
  'picking',
  'pick-1',
  { type: 'ASSIGN', pickerId: 'bob' },
  { id: 'request-77' },
)
if (!sent.done) console.log(sent.transitions, sent.snapshot.context.assignedTo?.length)
const typedState = await engine.send(picking, 'pick-1', { type: 'COMPLETE' })
if (typedState.state === 'done') console.log('done')
