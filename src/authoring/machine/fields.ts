// The fields of `this` that belong to a run: what its transitions have assigned. What the constructor made does not.

import { encode } from '../../model/codec.js'
import type { Stored } from '../../model/run.js'

type Values = Record<string, unknown>

export class Fields {
  private readonly self: Values
  private readonly made = new Map<
    string,
    { readonly value: unknown; readonly text: Stored | null }
  >()

  constructor(self: object | null) {
    this.self = (self ?? {}) as Values
    for (const [name, value] of Object.entries(this.self)) {
      this.made.set(name, { value, text: textOf(value) })
    }
  }

  assign(values: Readonly<Values>): void {
    Object.assign(this.self, values)
  }

  /** Throws VALUE_UNSTORABLE, with the name of the field. */
  changed(): Values {
    return this.collect((name, value) => void encode(value, `field "${name}" of the machine`))
  }

  /** Those that can be kept; the others are lost with their attempt. */
  storable(): Values {
    return this.collect(() => {}, true)
  }

  private collect(check: (name: string, value: unknown) => void, isLenient = false): Values {
    const changed: Values = {}
    for (const [name, value] of Object.entries(this.self)) {
      const before = this.made.get(name)
      const text = textOf(value)
      const isSame = before && (text === null ? before.value === value : before.text === text)
      if (isSame || (isLenient && text === null)) continue
      check(name, value)
      changed[name] = value
    }
    return changed
  }
}

/** null: it cannot be stored. */
function textOf(value: unknown): Stored | null {
  try {
    return encode(value, 'a field')
  } catch {
    return null
  }
}
