// The frame around every page: menu, search, the bar of a lost connection, keys.

import { QueryClientProvider } from '@tanstack/react-query'
import { lazy, Suspense, useMemo, useState } from 'react'
import { useHealth } from '../api/health.js'
import { useLive } from '../api/live.js'
import { makeQueryClient } from '../api/queries.js'
import { workspaceOf } from '../api/session.js'
import { ROUTES } from '../routes.js'
import { Empty, Skeleton } from '../ui/empty.js'
import { Toasts } from '../ui/toast.js'
import './app.css'
import { Boundary } from './boundary.js'
import { useKeys } from './keys.js'
import { LostBar } from './lost-bar.js'
import { Menu } from './menu.js'
import { Link, matched, usePath, useSearch } from './router.js'
import { useTitle } from './title.js'
import { TopBar } from './top-bar.js'

const Palette = lazy(async () => ({ default: (await import('./palette.js')).Palette }))
const Help = lazy(async () => ({ default: (await import('./help.js')).Help }))
const SignIn = lazy(async () => ({ default: (await import('./sign-in.js')).SignIn }))

export function App() {
  useSearch()
  const workspace = workspaceOf()
  // Of another workspace nothing that was read is true.
  // biome-ignore lint/correctness/useExhaustiveDependencies: that is the point
  const queries = useMemo(makeQueryClient, [workspace])
  return (
    <QueryClientProvider client={queries}>
      <Frame key={workspace ?? ''} />
    </QueryClientProvider>
  )
}

type Opened = 'palette' | 'help' | null

function Frame() {
  const { lostAt, isRefused } = useHealth()
  const [opened, setOpened] = useState<Opened>(null)
  useLive()
  useKeys({
    'mod+k': () => setOpened('palette'),
    '?': () => setOpened('help'),
  })
  const close = () => setOpened(null)
  return (
    <div className={lostAt === null ? 'frame' : 'frame is-lost'}>
      <button type="button" className="skip button" onClick={skipToMain}>
        Skip to the page
      </button>
      <TopBar onPalette={() => setOpened('palette')} onHelp={() => setOpened('help')} />
      <Menu />
      <main id="main" className="main" tabIndex={-1}>
        <LostBar />
        <Current />
      </main>
      <Suspense fallback={null}>
        {opened === 'palette' && <Palette onClose={close} />}
        {opened === 'help' && <Help onClose={close} />}
        {isRefused && <SignIn />}
      </Suspense>
      <Toasts />
    </div>
  )
}

function skipToMain(): void {
  document.getElementById('main')?.focus()
}

function Current() {
  const path = usePath()
  for (const { path: pattern, page: Page } of ROUTES) {
    const params = matched(pattern, path)
    if (params === null) continue
    return (
      <Boundary key={path}>
        <Suspense fallback={<Skeleton lines={10} />}>
          <Page params={params} />
        </Suspense>
      </Boundary>
    )
  }
  return <Unknown path={path} />
}

function Unknown({ path }: { readonly path: string }) {
  useTitle('Not here')
  return (
    <Empty title="There is no such page">
      <code>{path}</code> — go to the <Link to="/">overview</Link> or to the{' '}
      <Link to="/runs">runs</Link>.
    </Empty>
  )
}
