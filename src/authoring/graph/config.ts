// The config of one node, read field by field.

import { didYouMean, shown } from '../../model/errors.js'
import { type Duration, durationMs } from '../../model/time.js'
import type { Config } from './plan.js'
import { type Problems, said } from './problems.js'
import { constant, isCel, readTemplate, type Template } from './template.js'

export class ConfigOf implements Config {
  readonly given: Readonly<Record<string, unknown>>
  /** Names that its expressions read. */
  readonly names = new Set<string>()
  private readonly problems: Problems
  private readonly path: string

  constructor(problems: Problems, path: string, given: unknown) {
    this.problems = problems
    this.path = path
    const isDict = typeof given === 'object' && given !== null && !Array.isArray(given)
    if (!isDict) problems.add(path, `is ${shown(given)}, and not an object`)
    this.given = isDict ? (given as Readonly<Record<string, unknown>>) : {}
  }

  readonly has = (field: string): boolean => this.given[field] !== undefined

  wrong(field: string, message: string): void {
    this.problems.add(field === '' ? this.path : `${this.path}.${field}`, message)
  }

  only(...fields: readonly string[]): void {
    for (const key of Object.keys(this.given)) {
      if (fields.includes(key)) continue
      const near = didYouMean(key, fields)
      this.wrong(key, near ? `is not known: did you mean "${near}"?` : 'is not known')
    }
  }

  text(field: string): string {
    const value = this.given[field]
    if (typeof value === 'string' && value !== '') return value
    this.wrong(field, value === undefined ? 'is missing' : `is ${shown(value)}, and not a text`)
    return ''
  }

  duration(field: string): number | null {
    const value = this.given[field]
    if (value === undefined) return null
    try {
      return durationMs(value as Duration)
    } catch (error) {
      this.wrong(field, said(error))
      return null
    }
  }

  count(field: string, most: number): number | null {
    const value = this.given[field]
    if (value === undefined) return null
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) {
      return value
    }
    this.wrong(field, `is ${shown(value)}; it is a whole number from 1 to ${most}`)
    return null
  }

  expression(field: string): Template {
    const value = this.given[field]
    if (isCel(value)) return this.template(field)
    const what = value === undefined ? 'is missing' : `is ${shown(value)}`
    this.wrong(field, `${what}: write an expression, { "cel": "…" }`)
    return constant(undefined)
  }

  template(field: string): Template {
    const value = field === '' ? this.given : this.given[field]
    try {
      const template = readTemplate(value, field === '' ? this.path : `${this.path}.${field}`)
      for (const name of template.names) this.names.add(name)
      return template
    } catch (error) {
      this.wrong(field, said(error))
      return constant(undefined)
    }
  }
}
