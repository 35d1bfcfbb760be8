// One run: its story at the left, what is selected of it at the right. The moment that is shown is in the address.

import type { RunInfo } from 'perdure'
import { lazy, Suspense, useMemo } from 'react'
import { useRun } from '../../api/queries.js'
import { useKeys } from '../../app/keys.js'
import { Link, useSearch } from '../../app/router.js'
import { useTitle } from '../../app/title.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { type Tab, Tabs } from '../../ui/tabs.js'
import { DataTab } from './data-tab.js'
import { Details } from './details.js'
import { DocumentsTab } from './documents-tab.js'
import { ErrorsTab } from './errors-tab.js'
import { Header } from './header.js'
import { JournalTab } from './journal-tab.js'
import { failuresOf } from './model/failures.js'
import { storyOf } from './model/story.js'
import type { Then } from './model/then.js'
import './run.css'
import { Scrubber } from './scrubber.js'
import { Timeline } from './timeline.js'
import { useJournal } from './use-journal.js'
import { type Moment, useMoment, useThen } from './use-moment.js'

const Diagram = lazy(async () => ({ default: (await import('./diagram/index.js')).Diagram }))

export function Page({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const id = params.id ?? ''
  useTitle(id)
  const { isError, isPending, error, data } = useRun(id)
  if (isError && !data) {
    return (
      <div className="page">
        <Problem error={error} what="The run could not be read." />
      </div>
    )
  }
  if (isPending) return <Skeleton lines={12} />
  if (!data) {
    return (
      <Empty title="There is no such run">
        None of this workspace has the id <code>{id}</code>. All that there are:{' '}
        <Link to="/runs">runs</Link>.
      </Empty>
    )
  }
  return <RunPage key={id} run={data} />
}

const TABS = ['timeline', 'diagram', 'journal', 'data', 'documents', 'errors'] as const
type TabName = (typeof TABS)[number]

function RunPage({ run }: { readonly run: RunInfo }) {
  const [search, setSearch] = useSearch()
  const journal = useJournal(run)
  const moment = useMoment(journal.entries)
  const asked = search.get('tab')
  const tab = TABS.find((name) => name === asked) ?? 'timeline'
  const selected = search.get('sel')
  const choose = (name: TabName): void => setSearch({ tab: name === 'timeline' ? null : name })
  const select = (name: string | null): void => setSearch({ sel: name })
  useKeys({
    ...Object.fromEntries(TABS.map((name, index) => [String(index + 1), () => choose(name)])),
    '[': () => moment.go((moment.seq ?? moment.last) - 1),
    ']': () => moment.go((moment.seq ?? moment.last) + 1),
  })
  const then = useThen(run, moment)
  const failures = useMemo(() => failuresOf(moment.entries), [moment.entries])
  const tabs: readonly Tab<TabName>[] = [
    { name: 'timeline', label: 'Timeline' },
    { name: 'diagram', label: 'Diagram' },
    { name: 'journal', label: 'Journal', count: moment.entries.length },
    { name: 'data', label: 'Data' },
    { name: 'documents', label: 'Documents' },
    { name: 'errors', label: 'Errors', count: failures.length },
  ]
  return (
    <div className="page run-page">
      <Header run={run} moment={moment} />
      <div className="run-body panel">
        <div className="run-bar">
          <Tabs tabs={tabs} at={tab} onChange={choose} panel="run-panel" />
          <Scrubber moment={moment} status={then.status} />
        </div>
        <div className="run-split">
          <div id="run-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} className="run-panel">
            {journal.isRead ? (
              <Suspense fallback={<Skeleton />}>
                <Panel
                  tab={tab}
                  run={run}
                  then={then}
                  moment={moment}
                  selected={selected}
                  onSelect={select}
                />
              </Suspense>
            ) : (
              <Skeleton />
            )}
          </div>
          <Details run={run} moment={moment} selected={selected} onClose={() => select(null)} />
        </div>
      </div>
    </div>
  )
}

interface PanelProps {
  readonly tab: TabName
  readonly run: RunInfo
  readonly then: Then
  readonly moment: Moment
  readonly selected: string | null
  readonly onSelect: (name: string | null) => void
}

function Panel({ tab, run, then, moment, selected, onSelect }: PanelProps) {
  const story = useMemo(() => storyOf(moment.entries), [moment.entries])
  if (tab === 'timeline') {
    const isNow = moment.seq === null
    return <Timeline story={story} isNow={isNow} selected={selected} onSelect={onSelect} />
  }
  if (tab === 'diagram') {
    return <Diagram run={run} story={story} then={then} moment={moment} onSelect={onSelect} />
  }
  if (tab === 'journal')
    return <JournalTab moment={moment} selected={selected} onSelect={onSelect} />
  if (tab === 'data') return <DataTab run={run} then={then} moment={moment} />
  if (tab === 'documents') return <DocumentsTab run={run} then={then} />
  return <ErrorsTab run={run} moment={moment} onSelect={onSelect} />
}
