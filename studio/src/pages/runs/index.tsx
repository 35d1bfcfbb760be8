// The list of runs: live, virtual, its filters in the address.

import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useKeys } from '../../app/keys.js'
import { navigate, runPath, useSearch } from '../../app/router.js'
import { useTitle } from '../../app/title.js'
import { StartButton } from '../../forms/start-button.js'
import { Button } from '../../ui/button.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { BulkBar } from './bulk-bar.js'
import { FilterBar } from './filter-bar.js'
import { filtersOf, isFiltered } from './filters.js'
import { RunTable } from './run-table.js'
import './runs.css'
import { useRuns } from './use-runs.js'

const NONE: ReadonlySet<string> = new Set()

export function Page() {
  useTitle('Runs')
  const [search, setSearch] = useSearch()
  const filters = filtersOf(search)
  const { list, rows, newCount } = useRuns(filters)
  const [at, setAt] = useState(-1)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(NONE)
  const choose = (id: string): void =>
    setChosen((now) =>
      now.has(id) ? new Set([...now].filter((one) => one !== id)) : new Set([...now, id]),
    )
  const queries = useQueryClient()
  const move = (by: number) => () =>
    setAt((now) => Math.max(0, Math.min(rows.length - 1, now + by)))
  useKeys({
    j: move(1),
    k: move(-1),
    Enter: () => {
      const row = rows[at]
      if (row) navigate(runPath(row.run.id))
    },
    x: () => {
      const row = rows[at]
      if (row) choose(row.run.id)
    },
    '/': () => document.getElementById('runs-text')?.focus(),
  })
  const showNew = () => void queries.resetQueries({ queryKey: ['runs', filters] })
  return (
    <div className="page runs-page">
      <div className="page-head">
        <h1>Runs</h1>
        <FilterBar filters={filters} onChange={setSearch} />
        <StartButton />
      </div>
      <BulkBar
        chosen={rows.filter(({ run }) => chosen.has(run.id)).map(({ run }) => run)}
        filters={filters}
        isFiltered={isFiltered(filters)}
        onDone={() => setChosen(NONE)}
      />
      {newCount > 0 && (
        <Button className="new-rows" look="quiet" icon="up" onClick={showNew}>
          {newCount >= 100 ? '100 or more' : newCount} new
        </Button>
      )}
      {list.isError && <Problem error={list.error} what="The runs could not be read." />}
      {list.isPending && <Skeleton lines={14} />}
      {list.isSuccess && rows.length === 0 && !list.hasNextPage && (
        <NoRuns isFiltered={isFiltered(filters)} />
      )}
      {rows.length > 0 && (
        <RunTable
          rows={rows}
          at={at}
          onAt={setAt}
          chosen={chosen}
          onChoose={choose}
          hasMore={list.hasNextPage}
          onEnd={() => {
            if (!list.isFetchingNextPage) void list.fetchNextPage()
          }}
        />
      )}
    </div>
  )
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) {
    return <Empty title="No run is like that">Take away a filter, or look at a longer time.</Empty>
  }
  return (
    <Empty title="No runs yet" command={'npx perdure run order --input \'{"id":"o-1"}\''}>
      Every run of your workflows is here, newest first, from the moment it starts.
    </Empty>
  )
}
