// A form made of a JSON Schema. It is loaded when somebody needs one.

import { type FormEvent, useState } from 'react'
import { Button } from '../ui/button.js'
import { Problem } from '../ui/empty.js'
import { Field } from './field.js'
import './forms.css'
import { initialOf, missingIn, type Schema } from './schema.js'

export interface SchemaFormProps {
  /** null: nothing is known of the value, it is typed as JSON. */
  readonly schema: object | null
  readonly initial?: unknown
  readonly submitLabel: string
  /** What comes back refused is shown, with what was typed. */
  readonly onSubmit: (value: unknown) => Promise<void>
  readonly onCancel?: (() => void) | undefined
}

const ANYTHING: Schema = {}

export function SchemaForm(props: SchemaFormProps) {
  const { submitLabel, onSubmit, onCancel } = props
  const schema = (props.schema ?? ANYTHING) as Schema
  const [value, setValue] = useState(() => props.initial ?? initialOf(schema, schema, true))
  const [invalid, setInvalid] = useState<readonly string[]>([])
  const [error, setError] = useState<unknown>(null)
  const [isSending, setSending] = useState(false)
  const missing = missingIn(schema, schema, value)
  const isReady = missing.length === 0 && invalid.length === 0
  const noteInvalid = (path: string, isInvalid: boolean): void =>
    setInvalid((now) => {
      if (now.includes(path) === isInvalid) return now
      return isInvalid ? [...now, path] : now.filter((one) => one !== path)
    })
  const send = async (): Promise<void> => {
    setSending(true)
    setError(null)
    try {
      await onSubmit(value)
    } catch (refusal) {
      setError(refusal)
    } finally {
      setSending(false)
    }
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isReady && !isSending) void send()
  }
  return (
    <form className="schema-form" onSubmit={submit} noValidate>
      <Field
        name=""
        path=""
        schema={schema}
        root={schema}
        isRequired={schema !== ANYTHING}
        value={value}
        onChange={setValue}
        onInvalid={noteInvalid}
      />
      {error !== null && <Problem error={error} what="It was refused." />}
      <div className="dialog-foot">
        {missing.length > 0 && (
          <span className="faint small grow">Still empty: {missing.join(', ')}</span>
        )}
        {onCancel && <Button onClick={onCancel}>Back</Button>}
        <Button type="submit" look="primary" disabled={!isReady || isSending}>
          {submitLabel}
        </Button>
      </div>
    </form>
  )
}
