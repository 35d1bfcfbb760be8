// Kinds of changes of the code of a run that is under way, and what becomes of the run.
//
// Every program is one of a run that waits for "go", then for "end". `after` is deployed while it waits for "go".

import { type Definition, task, type Wf, workflow } from '../../src/index.js'

/** Notes that the code of a step ran, and gives back its name. */
export type Does = (name: string) => () => string
export type Body = (wf: Wf, does: Does) => Promise<unknown>

export interface Change {
  readonly kind: string
  readonly before: Body
  readonly after: Body
  /** What people read; or what runs of the changed code, when it is accepted. */
  readonly expected: { readonly difference: string } | { readonly runs: readonly string[] }
  /** What people read if the old code has taken "go" meanwhile; absent: the same. */
  readonly later?: string
  /** Signals that the run takes before it waits for "go". */
  readonly sent?: readonly string[]
}

export const pack = task('pack', async () => 'packed')
export const wrap = task('wrap', async () => 'wrapped')
export const echo = task('echo', async (text: string) => text)
export const inner = workflow('inner', async () => 'inner')
export const CHILDREN: readonly Definition[] = [pack, wrap, echo, inner]

/** What all of them do once their past is behind them. */
async function rest(wf: Wf, does: Does): Promise<string> {
  await wf.waitFor('go')
  await wf.do('ship', does('ship'))
  await wf.waitFor('end')
  return wf.do('close', does('close'))
}

/** A run with this past. */
const past =
  (before: Body): Body =>
  async (wf, does) => {
    await before(wf, does)
    return rest(wf, does)
  }

const step = (wf: Wf, does: Does, name: string) => wf.do(name, does(name))
const steps = (...names: readonly string[]) =>
  past(async (wf, does) => {
    for (const name of names) await step(wf, does, name)
  })
const differs = (position: number, recorded: string, found: string) => ({
  difference: `at question ${position} the history has ${recorded}, the code asks ${found}`,
})
const later = (...of: Parameters<typeof differs>) => ({ later: differs(...of).difference })
const USUAL = { runs: ['ship', 'close'] }

const charge: Readonly<Record<string, Body>> = {
  step: past((wf, does) => step(wf, does, 'pay')),
  transaction: past((wf, does) => wf.transaction('pay', async () => does('pay')())),
  sleep: past((wf) => wf.sleep('pay', 1)),
  wait: past((wf) => wf.waitFor('pay')),
  child: past((wf) => wf.do('pay', pack)),
}
const SHOWN: Readonly<Record<string, string>> = {
  step: 'step "pay" (inline)',
  transaction: 'step "pay" (transaction)',
  sleep: 'sleep "pay"',
  wait: 'wait "pay"',
  child: 'child "pay" (pack)',
}

/** Every kind of question into every other. */
const kinds: readonly Change[] = Object.keys(charge).flatMap((from) =>
  Object.keys(charge)
    .filter((to) => to !== from)
    .map((to) => ({
      kind: `a ${from} becomes a ${to} of the same name`,
      before: charge[from] as Body,
      after: charge[to] as Body,
      expected: differs(1, SHOWN[from] ?? '', SHOWN[to] ?? ''),
      ...(from === 'wait' && { sent: ['pay'] }),
    })),
)

const hotel = (scope: string, ...names: readonly string[]) =>
  past((wf, does) =>
    wf.scope(scope, async (wf) => {
      for (const name of names) await step(wf, does, name)
    }),
  )

const racing = (...branches: readonly string[]): Body =>
  past((wf, does) => {
    const branch = (name: string) => async (wf: Wf) => {
      await step(wf, does, 'hold')
      return name === 'first' ? name : wf.waitFor('never')
    }
    return wf.race(
      'race',
      Object.fromEntries(branches.map((name) => [name, branch(name)])) as never,
    )
  })

const together = (...names: readonly string[]) =>
  past((wf, does) => Promise.all(names.map((name) => step(wf, does, name))))

/** Rounds of a loop: `each` comes behind the signal of every round. */
const rounds =
  (each: readonly string[]): Body =>
  (wf, does) =>
    wf.loop('rounds', 0, async (wf, n) => {
      await step(wf, does, 'work')
      const { name } = await wf.waitFor(['go', 'end'])
      for (const one of each) await step(wf, does, one)
      return name === 'end' ? wf.done(n) : n + 1
    })

/** The same as an ordinary loop of the language. */
const forRounds =
  (each: readonly string[]): Body =>
  async (wf, does) => {
    for (let n = 0; ; n += 1) {
      await step(wf, does, 'work')
      const { name } = await wf.waitFor(['go', 'end'])
      for (const one of each) await step(wf, does, one)
      if (name === 'end') return n
    }
  }

const order: readonly Change[] = [
  {
    kind: 'a step is inserted before completed ones',
    before: steps('a', 'b'),
    after: steps('a', 'new', 'b'),
    expected: differs(2, 'step "b" (inline)', 'step "new" (inline)'),
  },
  {
    kind: 'a step is inserted behind the last completed one, before the wait',
    before: steps('a'),
    after: steps('a', 'new'),
    expected: differs(2, 'wait "go"', 'step "new" (inline)'),
  },
  {
    kind: 'a completed step is removed',
    before: steps('a', 'b', 'c'),
    after: steps('a', 'c'),
    expected: differs(2, 'step "b" (inline)', 'step "c" (inline)'),
  },
  {
    kind: 'the last completed step is removed',
    before: steps('a', 'b'),
    after: steps('a'),
    expected: differs(2, 'step "b" (inline)', 'wait "go"'),
  },
  {
    kind: 'a completed step is renamed',
    before: steps('a', 'b'),
    after: steps('a', 'beta'),
    expected: differs(2, 'step "b" (inline)', 'step "beta" (inline)'),
  },
  {
    kind: 'completed steps are reordered',
    before: steps('a', 'b'),
    after: steps('b', 'a'),
    expected: differs(1, 'step "a" (inline)', 'step "b" (inline)'),
  },
  {
    kind: 'a loop of steps goes on for longer',
    before: steps('add', 'add'),
    after: steps('add', 'add', 'add'),
    expected: differs(3, 'wait "go"', 'step "add#3" (inline)'),
  },
  {
    kind: 'a loop of steps ends earlier',
    before: steps('add', 'add', 'add'),
    after: steps('add', 'add'),
    expected: differs(3, 'step "add#3" (inline)', 'wait "go"'),
  },
  {
    kind: 'steps that were asked for together change places',
    before: together('a', 'b'),
    after: together('b', 'a'),
    expected: differs(1, 'step "a" (inline)', 'step "b" (inline)'),
  },
  {
    kind: 'steps one after the other are asked for together',
    before: steps('a', 'b'),
    after: together('a', 'b'),
    expected: differs(2, 'the answer to "a"', 'step "b" (inline)'),
  },
  {
    kind: 'steps that were asked for together come one after the other',
    before: together('a', 'b'),
    after: steps('a', 'b'),
    expected: differs(2, 'step "b" (inline)', 'nothing'),
  },
  {
    kind: 'the function returns before its wait',
    before: steps('a'),
    after: async (wf, does) => step(wf, does, 'a'),
    expected: differs(2, 'wait "go"', 'the end of the function'),
  },
  {
    kind: 'the function returns before a completed step',
    before: steps('a', 'b'),
    after: async (wf, does) => step(wf, does, 'a'),
    expected: differs(2, 'step "b" (inline)', 'the end of the function'),
  },
  {
    kind: 'the function returns while a second use of a name is not answered',
    before: steps('a', 'a'),
    after: async (wf, does) => {
      await step(wf, does, 'a')
      void step(wf, does, 'a')
    },
    expected: differs(2, 'the answer to "a#2"', 'the end of the function'),
  },
  {
    kind: 'the function throws before a completed step',
    before: steps('a', 'b'),
    after: async (wf, does) => {
      await step(wf, does, 'a')
      throw new Error('not today')
    },
    expected: differs(2, 'step "b" (inline)', 'the end of the function'),
  },
]

const targets: readonly Change[] = [
  {
    kind: 'the code of a step becomes a task',
    before: steps('pack'),
    after: past((wf) => wf.do('pack', pack)),
    expected: differs(1, 'step "pack" (inline)', 'child "pack" (pack)'),
  },
  {
    kind: 'another task is called under the same name',
    before: past((wf) => wf.do('child', pack)),
    after: past((wf) => wf.do('child', wrap)),
    expected: differs(1, 'child "child" (pack)', 'child "child" (wrap)'),
  },
  {
    kind: 'a task becomes a workflow',
    before: past((wf) => wf.do('child', pack)),
    after: past((wf) => wf.do('child', inner)),
    expected: differs(1, 'child "child" (pack)', 'child "child" (inner)'),
  },
  {
    kind: 'a wait for one name becomes one for several',
    before: past((wf) => wf.waitFor('yes')),
    after: past((wf) => wf.waitFor(['yes', 'no'])),
    sent: ['yes'],
    expected: differs(1, 'wait "yes"', 'wait "yes | no"'),
  },
  {
    kind: 'a wait for several names becomes one for one',
    before: past((wf) => wf.waitFor(['yes', 'no'])),
    after: past((wf) => wf.waitFor('yes')),
    sent: ['yes'],
    expected: differs(1, 'wait "yes | no"', 'wait "yes"'),
  },
]

const scopes: readonly Change[] = [
  {
    kind: 'a step moves into a scope',
    before: steps('a', 'b'),
    after: past(async (wf, does) => {
      await step(wf, does, 'a')
      await wf.scope('hotel', (wf) => step(wf, does, 'b'))
    }),
    expected: differs(2, 'step "b" (inline)', 'step "hotel/b" (inline)'),
  },
  {
    kind: 'a step moves out of a scope',
    before: hotel('hotel', 'a', 'b'),
    after: past(async (wf, does) => {
      await wf.scope('hotel', (wf) => step(wf, does, 'a'))
      await step(wf, does, 'b')
    }),
    expected: differs(2, 'step "hotel/b" (inline)', 'the end of "hotel"'),
  },
  {
    kind: 'a scope is renamed',
    before: hotel('hotel', 'a'),
    after: hotel('hostel', 'a'),
    expected: differs(1, 'step "hotel/a" (inline)', 'step "hostel/a" (inline)'),
  },
  {
    kind: 'an empty scope is renamed',
    before: hotel('hotel'),
    after: hotel('hostel'),
    expected: differs(1, 'the end of "hotel"', 'the end of "hostel"'),
  },
  {
    kind: 'a scope is taken away around its steps',
    before: hotel('hotel', 'a'),
    after: steps('a'),
    expected: differs(1, 'step "hotel/a" (inline)', 'step "a" (inline)'),
  },
  {
    kind: 'a scope gets a time limit',
    before: hotel('hotel', 'a'),
    after: past((wf, does) => wf.scope('hotel', (wf) => step(wf, does, 'a'), { timeout: '1h' })),
    expected: differs(1, 'step "hotel/a" (inline)', 'sleep "hotel/(timeout)"'),
  },
  {
    kind: 'a branch of a race is renamed',
    before: racing('first', 'second'),
    after: racing('first', 'other'),
    expected: differs(2, 'step "race/second/hold" (inline)', 'step "race/other/hold" (inline)'),
  },
  {
    kind: 'a branch of a race is removed',
    before: racing('first', 'second'),
    after: racing('first'),
    expected: differs(2, 'step "race/second/hold" (inline)', 'nothing'),
  },
  {
    kind: 'a branch of a race is added',
    before: racing('first'),
    after: racing('first', 'second'),
    expected: differs(2, 'the answer to "race/first/hold"', 'step "race/second/hold" (inline)'),
  },
  {
    kind: 'an ordinary loop does more in every round',
    before: forRounds([]),
    after: forRounds(['more']),
    sent: ['go'],
    expected: differs(3, 'step "work#2" (inline)', 'step "more" (inline)'),
  },
  {
    kind: 'the current round of wf.loop is changed before where it is',
    before: rounds([]),
    after: (wf, does) =>
      wf.loop('rounds', 0, async (wf, n) => {
        await step(wf, does, 'other work')
        const { name } = await wf.waitFor(['go', 'end'])
        return name === 'end' ? wf.done(n) : n + 1
      }),
    sent: ['go'],
    expected: differs(1, 'step "rounds@2/work" (inline)', 'step "rounds@2/other work" (inline)'),
    ...later(1, 'step "rounds@3/work" (inline)', 'step "rounds@3/other work" (inline)'),
  },
  {
    kind: 'wf.loop moves into a scope',
    before: rounds([]),
    after: (wf, does) => wf.scope('x', async (wf) => rounds([])(wf as never, does)),
    sent: ['go'],
    expected: differs(1, 'the end of "rounds@1"', 'step "x/rounds@1/work" (inline)'),
    ...later(1, 'the end of "rounds@2"', 'step "x/rounds@1/work" (inline)'),
  },
]

/** Tells what its child gave back. */
const echoing =
  (input: string): Body =>
  async (wf, does) => {
    const heard = await wf.do('child', echo, input)
    await wf.waitFor('go')
    await wf.do('ship', does(`ship ${heard}`))
    await wf.waitFor('end')
    return wf.do('close', does('close'))
  }

/** Tells which branch has won: one that asks nothing. */
const won =
  (name: string): Body =>
  async (wf, does) => {
    const branches = { [name]: async () => 1, later: (wf: Wf) => wf.sleep('later', '1h') }
    const { winner } = await wf.race('race', branches)
    await wf.waitFor('go')
    await wf.do('ship', does(`ship ${winner}`))
    await wf.waitFor('end')
    return wf.do('close', does('close'))
  }

/** A scope that fails at the end. */
const failing =
  (first: Body): Body =>
  async (wf, does) => {
    const trip = wf.scope('trip', async (wf) => {
      await first(wf, does)
      await wf.waitFor('go')
      await step(wf, does, 'ship')
      await wf.waitFor('end')
      throw new Error('no trip')
    })
    await trip.catch(() => {})
    return wf.do('close', does('close'))
  }

const accepted: readonly Change[] = [
  {
    kind: 'a step is appended at the end',
    before: steps('a'),
    after: async (wf, does) => {
      await steps('a')(wf, does)
      return step(wf, does, 'thank')
    },
    expected: { runs: ['ship', 'close', 'thank'] },
  },
  {
    kind: 'the code of a step that is not done yet is another',
    before: steps('a'),
    after: async (wf, does) => {
      await step(wf, does, 'a')
      await wf.waitFor('go')
      await wf.do('ship', does('ship by train'))
      await wf.waitFor('end')
      return wf.do('close', does('close by hand'))
    },
    expected: { runs: ['ship by train', 'close by hand'] },
  },
  {
    kind: 'the code of a completed step is another',
    before: steps('a'),
    after: past((wf, does) => wf.do('a', does('other'))),
    expected: USUAL,
  },
  {
    kind: 'the input of a child is another',
    before: echoing('before'),
    after: echoing('after'),
    expected: { runs: ['ship before', 'close'] },
  },
  {
    kind: 'retries and time limit of steps are others, done or not',
    before: past((wf, does) => wf.do('a', does('a'), { undo: () => {} })),
    after: async (wf, does) => {
      await wf.do('a', does('a'), { retries: 3, timeout: '1h' })
      await wf.waitFor('go')
      const shaky = ({ attempt }: { readonly attempt: number }) => {
        does(`ship ${attempt}`)()
        if (attempt === 1) throw new Error('once more')
      }
      await wf.do('ship', shaky, { retries: 1, retryDelay: 1, timeout: '1h' })
      await wf.waitFor('end')
      return wf.do('close', does('close'))
    },
    expected: { runs: ['ship 1', 'ship 2', 'close'] },
  },
  {
    kind: 'a completed step gets an undo: it is undone when that comes',
    before: failing((wf, does) => step(wf, does, 'a')),
    after: failing((wf, does) => wf.do('a', does('a'), { undo: () => void does('undo')() })),
    expected: { runs: ['ship', 'undo', 'close'] },
  },
  {
    kind: 'a branch of a race that asks nothing is renamed',
    before: won('at once'),
    after: won('immediately'),
    expected: { runs: ['ship immediately', 'close'] },
  },
  {
    kind: 'a sleep is to take longer',
    before: past((wf) => wf.sleep('nap', 1)),
    after: past((wf) => wf.sleep('nap', '7d')),
    expected: USUAL,
  },
  {
    kind: 'a wait gets a time limit',
    before: past((wf) => wf.waitFor('yes')),
    after: past((wf) => wf.waitFor('yes', { timeout: '1h', orNull: true })),
    sent: ['yes'],
    expected: USUAL,
  },
  {
    kind: 'a new step stands behind wf.patched',
    before: steps('a'),
    after: past(async (wf, does) => {
      await step(wf, does, 'a')
      if (wf.patched('new')) await step(wf, does, 'new')
    }),
    expected: USUAL,
  },
  {
    kind: 'the `if` around wf.patched is removed when all runs have it',
    before: past(async (wf, does) => {
      await step(wf, does, 'a')
      if (wf.patched('new')) await step(wf, does, 'new')
    }),
    after: steps('a', 'new'),
    expected: USUAL,
  },
  {
    kind: 'wf.loop does more in every round',
    before: rounds([]),
    after: rounds(['more']),
    sent: ['go'],
    expected: { runs: ['more', 'work', 'more'] },
  },
]

export const CHANGES: readonly Change[] = [...order, ...kinds, ...targets, ...scopes, ...accepted]
