import { useState } from 'react'
import { api } from '../../api/api.js'
import { workspaceOf } from '../../api/session.js'
import { CopyButton } from '../../ui/copy.js'
import { type Tab, Tabs } from '../../ui/tabs.js'
import { type Samples, samplesOf } from './samples.js'

const TABS: readonly Tab<keyof Samples>[] = [
  { name: 'typescript', label: 'TypeScript' },
  { name: 'curl', label: 'curl' },
  { name: 'cli', label: 'Command line' },
]

/** One click takes it along. */
export function StartCode({
  name,
  schema,
}: {
  readonly name: string
  readonly schema: object | null
}) {
  const [tab, setTab] = useState<keyof Samples>('typescript')
  const url = api().connection.url
  const code = samplesOf(name, schema, { url, workspace: workspaceOf() })[tab]
  return (
    <section className="panel" aria-label="Start it from elsewhere">
      <div className="panel-head">
        <Tabs tabs={TABS} at={tab} onChange={setTab} panel="start-code" />
        <span className="grow" />
        <CopyButton text={code} label="Copy the code" />
      </div>
      <div id="start-code" role="tabpanel" aria-labelledby={`tab-${tab}`} className="workflow-code">
        <pre>{code}</pre>
      </div>
    </section>
  )
}
