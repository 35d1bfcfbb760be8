// Decorated classes, right and wrong. definitions.test.ts compiles this file twice: with decorators of the standard, and with
// experimentalDecorators.

import { Guard, Transition, Workflow } from '../../src/authoring/machine/class.js'
import type { TransitionContext } from '../../src/authoring/machine/types.js'
import { typed } from '../../src/authoring/schema.js'

const NOTE = typed<{ by: string }>()

@Workflow({ name: 'review', version: '2', description: 'Two pairs of eyes', timeout: '30d' })
export class Review {
  static input = typed<{ owner: string }>()
  static state = typed<{ rounds?: number; draft?: string }>()
  static output = typed<{ by: string }>()
  rounds = 0

  @Transition({ to: 'reviewing' })
  async write(state: { rounds?: number }, ctx: TransitionContext<{ owner: string }>) {
    this.rounds += 1
    state.rounds = (state.rounds ?? 0) + ctx.input.owner.length
  }

  @Transition({ from: 'reviewing', to: 'end', wait: true, schema: NOTE })
  @Guard('isOwner')
  async approve(_state: object, note: { by: string }) {
    return { by: note.by }
  }

  @Guard((_state: object, note: { by: string }) => note.by !== '')
  @Transition({ from: 'reviewing', to: 'checking', wait: true, schema: NOTE, retry: 3, timeout: 0 })
  async reject(state: { draft?: string }, note: { by: string }) {
    return { ...state, draft: note.by }
  }

  @Transition({ from: 'checking', to: 'start', priority: 1 })
  @Guard('isShort')
  again() {}

  @Transition({ from: 'checking', to: 'end' })
  stop() {}

  @Transition({ from: 'reviewing', to: 'end', after: '7d' })
  @Transition({
    from: 'checking',
    to: 'end',
    after: '1h',
    timeout: '5s',
    retry: { place: 'broken' },
  })
  @Transition({ from: 'broken', to: 'end', after: 0, retry: { attempts: -1 } })
  expire() {}

  isOwner(_state: object, note: { by: string }, ctx: TransitionContext<{ owner: string }>) {
    return note.by === ctx.input.owner
  }

  isShort(state: { draft?: string }) {
    return (state.draft ?? '').length < this.rounds + 3
  }
}

class Base {
  @Transition({ to: 'middle' })
  first() {
    return { by: 'base' }
  }

  @Transition({ from: 'middle', to: 'end' })
  second() {
    return 'base'
  }
}

@Workflow({ name: 'derived', state: typed<object>() })
export class Derived extends Base {
  override second() {
    return 'derived'
  }
}

/** As others write them: what it gives back takes the place of the method. */
function Logged(...args: readonly unknown[]): unknown {
  const isStandard = args.length === 2
  const descriptor = args[2] as PropertyDescriptor
  const method = (isStandard ? args[0] : descriptor.value) as (...args: unknown[]) => unknown
  const wrapper = function (this: unknown, ...given: unknown[]) {
    return `logged ${String(method.apply(this, given))}`
  }
  if (isStandard) return wrapper
  descriptor.value = wrapper
  return descriptor
}

@Workflow({ name: 'wrapped' })
export class Wrapped {
  @Transition({ to: 'end' })
  @(Logged as (...args: unknown[]) => void)
  below() {
    return 'below'
  }
}

/** Classes that are refused where they are written. */
export const wrong: Record<string, () => unknown> = {
  'no transitions': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      write() {}
    }
    return Wrong
  },
  'nothing leaves start': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ from: 'strat', to: 'end' }) write() {}
    }
    return Wrong
  },
  'several leave start': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end' }) write() {}
      @Transition({ to: 'end' }) @Guard(() => true) copy() {}
    }
    return Wrong
  },
  'no such guard': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end' }) @Guard('isOwnr' as 'isOwner') write() {}
      isOwner() {
        return true
      }
    }
    return Wrong
  },
  'a guard that is a field': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      allowed = () => true
      @Transition({ to: 'end' }) @Guard('allowed') write() {}
    }
    return Wrong
  },
  'two unguarded': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'a' }) write() {}
      @Transition({ from: 'a', to: 'end' }) one() {}
      @Transition({ from: 'a', to: 'end', priority: 5 }) two() {}
    }
    return Wrong
  },
  'an error place without a way out': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'a', retry: { place: 'faild' } }) write() {}
      @Transition({ from: 'a', to: 'end', retry: { place: 'failed' } }) one() {}
      @Transition({ from: 'failed', to: 'end', wait: true }) mend() {}
    }
    return Wrong
  },
  'end as an error place': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end', retry: { place: 'end' } }) write() {}
    }
    return Wrong
  },
  'a dead end': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'reviewin' }) write() {}
      @Transition({ from: 'reviewing', to: 'end', wait: true }) approve() {}
    }
    return Wrong
  },
  'a dead end without a likeness': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'elsewhere' }) write() {}
    }
    return Wrong
  },
  'a place that is never entered': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end' }) write() {}
      @Transition({ from: 'reviewing', to: 'end', wait: true }) approve() {}
    }
    return Wrong
  },
  'leaves the end': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end' }) write() {}
      @Transition({ from: 'end', to: 'end', wait: true }) approve() {}
    }
    return Wrong
  },
  'one place twice': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'a' }) write() {}
      @Transition({ from: 'a', to: 'end', wait: true })
      @Transition({ from: ['start', 'a'], to: 'end', wait: true })
      approve() {}
    }
    return Wrong
  },
  'after and wait': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end', wait: true, after: '1h' } as { to: string; wait: true }) write() {}
    }
    return Wrong
  },
  'a schema without wait': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end', schema: NOTE } as { to: string }) write() {}
    }
    return Wrong
  },
  'waits only sometimes': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'a' })
      @Transition({ from: 'a', to: 'end', wait: true })
      write() {}
    }
    return Wrong
  },
  'two schemas': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'a' }) write() {}
      @Transition({ from: 'a', to: 'b', wait: true, schema: NOTE })
      @Transition({ from: 'b', to: 'end', wait: true })
      approve() {}
    }
    return Wrong
  },
  'by hand and elsewhere': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end', retry: { attempts: -1, place: 'a' } }) write() {}
      @Transition({ from: 'a', to: 'end', wait: true }) mend() {}
    }
    return Wrong
  },
  'an unknown option': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end', prioriti: 1 } as { to: string }) write() {}
    }
    return Wrong
  },
  'an unknown option of the retry': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end', retry: { attemps: 1 } as object }) write() {}
    }
    return Wrong
  },
  'no target': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({} as { to: string }) write() {}
    }
    return Wrong
  },
  'a place that cannot be one': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: ' end' }) write() {}
    }
    return Wrong
  },
  'a guard without a transition': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Guard(() => true) write() {}
    }
    return Wrong
  },
  'two guards': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Guard(() => true) @Transition({ to: 'end' }) @Guard(() => false) write() {}
    }
    return Wrong
  },
  'a static method': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end' }) static write() {}
    }
    return Wrong
  },
  'an unknown option of the class': () => {
    @Workflow({ name: 'wrong', vresion: '2' } as { name: string })
    class Wrong {
      @Transition({ to: 'end' }) write() {}
    }
    return Wrong
  },
  'a name that cannot be one': () => {
    @Workflow({ name: '1st' })
    class Wrong {
      @Transition({ to: 'end' }) write() {}
    }
    return Wrong
  },
  'a schema that is none': () => {
    @Workflow({ name: 'wrong' })
    class Wrong {
      static state = 5
      @Transition({ to: 'end' }) write() {}
    }
    return Wrong
  },
  'a schema in two places': () => {
    @Workflow({ name: 'wrong', state: NOTE })
    class Wrong {
      static state = typed<object>()
      @Transition({ to: 'end' }) write() {}
    }
    return Wrong
  },
  'twice a workflow': () => {
    @Workflow({ name: 'wrong' })
    @Workflow({ name: 'wrong' })
    class Wrong {
      @Transition({ to: 'end' }) write() {}
    }
    return Wrong
  },
}
