// Workloads of machines: one that goes from place to place, fails, and waits for people; and counters that take events from
// several processes at once.

import { setTimeout as sleep } from 'node:timers/promises'
import { machine, Transition, typed, Workflow } from '../../dist/index.js'
import { unlessOver } from './workloads-scopes.mjs'

const STEP_MS = 3
const ADDS = [1, 2, 3]
const OPEN_MS = 120
const REMINDERS = 2
const PATIENCE_MS = 8_000

/** The name under which its outcome stands in the journal. */
const nameOf = ({ key }) => key.split('/').slice(2).join('/')

/** As a compiler would apply them. */
function decorate(cls, name, transitions) {
  for (const [method, options] of Object.entries(transitions)) {
    const descriptor = Object.getOwnPropertyDescriptor(cls.prototype, method)
    Transition(options)(cls.prototype, method, descriptor)
  }
  Workflow({ name })(cls)
}

/** @param {{ ledger: object, begin: Function, say: Function, world: string }} tools */
export function makeMachineWorkloads({ ledger, begin, say, world }) {
  /** Leaves a row of its transaction, a document of its own, and one in the place of that of the transition before. */
  const works = async (self, state, ctx) => {
    const name = nameOf(ctx)
    await ledger.begun(ctx, name)
    self.tries += 1
    state.log = [...(state.log ?? []), name]
    const values = [ctx.run.id, name, ctx.key]
    await ctx.transaction((tx) =>
      tx.query('insert into effects (run, step, key) values ($1, $2, $3)', values),
    )
    await ctx.documents.save('part', { name })
    await ctx.documents.save('progress', { log: state.log }, { key: 'progress' })
    await sleep(STEP_MS)
    return state
  }

  class Assembly {
    /** The attempts that have an outcome, failed ones too. */
    tries = 0

    cut(state, ctx) {
      return works(this, state, ctx)
    }
    async bore(state, ctx) {
      await works(this, state, ctx)
      if (ctx.attempt === 1) throw new Error('the drill broke')
      return state
    }
    async paint(state, ctx) {
      await works(this, state, ctx)
      throw new Error('it rains')
    }
    clean(state, _payload, ctx) {
      return works(this, state, ctx)
    }
    dry(state, ctx) {
      return works(this, state, ctx)
    }
    async pack(state, payload, ctx) {
      const { log } = await works(this, state, ctx)
      return { log, tries: this.tries, payload }
    }
  }
  decorate(Assembly, 'assembly', {
    cut: { to: 'shaped' },
    bore: { from: 'shaped', to: 'bored', retry: { attempts: 1, delay: 30 } },
    paint: { from: 'bored', to: 'painted', retry: { place: 'smeared' } },
    clean: { from: 'smeared', to: 'painted', wait: true },
    dry: { from: 'painted', to: 'dried' },
    pack: { from: 'dried', to: 'end', wait: true },
  })

  /** Fails once, and is tried again long after. */
  class Patient {
    async ask(state, ctx) {
      await ledger.begun(ctx, nameOf(ctx))
      if (ctx.attempt === 1) throw new Error('nobody is there')
      return state
    }
  }
  decorate(Patient, 'patient', { ask: { to: 'end', retry: { attempts: 1, delay: PATIENCE_MS } } })

  const began = (args) => ledger.begun(args, nameOf(args))
  const counter = (name) =>
    machine(name, {
      initial: 'counting',
      context: { count: 0 },
      events: { ADD: typed(), STOP: typed() },
      states: {
        counting: {
          entry: began,
          on: {
            ADD: {
              actions: async (args) => {
                await began(args)
                args.context.count += 1
              },
            },
            STOP: { target: 'stopped', actions: began },
          },
        },
        stopped: { final: true },
      },
    })
  const tally = counter('tally')
  /** One for all: it takes the events of every process, and never ends. */
  const total = counter('total')

  /** Nobody answers it: it reminds of itself and expires, by its times alone. */
  const offer = machine('offer', {
    initial: 'open',
    context: { reminders: 0 },
    states: {
      open: {
        timeout: OPEN_MS,
        on: {
          TIMEOUT: [
            {
              guard: ({ context }) => context.reminders < REMINDERS,
              target: 'open',
              actions: async (args) => {
                await began(args)
                args.context.reminders += 1
              },
            },
            { target: 'expired', actions: began },
          ],
        },
      },
      expired: { final: true },
    },
  })

  // ── from outside ──────────────────────────────────────────────────────────────────────────────────────────

  const add = async (engine, definition, to, id) => {
    const { snapshot } = await engine.send(definition, to, { type: 'ADD' }, { id })
    if (snapshot.status === 'active') say({ sent: id, to, count: snapshot.context.count })
  }
  const kinds = {
    patient: { drive: (engine, id) => begin(engine, Patient, id) },
    offer: {
      drive: async (engine, id) => {
        const handle = await engine.start(offer, {}, { id })
        say({ acked: id })
        return handle
      },
    },
    assembly: {
      drive: async (engine, id) => {
        const handle = await begin(engine, Assembly, id)
        // Each is sent twice: a repetition is told the same and changes nothing.
        for (const name of ['clean', 'clean', 'pack', 'pack'])
          await unlessOver(() => handle.trigger(name, { by: name }, { id: name, within: '10m' }))
        return handle
      },
    },
    tally: {
      drive: async (engine, id) => {
        await Promise.all([
          ...ADDS.map((n) => add(engine, tally, id, `${id}-${n}`)),
          add(engine, total, `${world}-total`, id),
        ])
        say({ acked: id })
        await engine.send(tally, id, { type: 'STOP' }, { id: 'stop' })
        return engine.handle(tally, id)
      },
    },
  }
  return { definitions: [Assembly, Patient, tally, total, offer], kinds }
}
