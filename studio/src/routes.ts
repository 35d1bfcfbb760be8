// The pages. A new one is a folder in pages and a line here; what has `nav` is in the menu.

import { type ComponentType, lazy } from 'react'
import type { IconName } from './ui/icon.js'

export interface PageRoute {
  readonly path: string
  readonly page: ComponentType<{ readonly params: Readonly<Record<string, string>> }>
  readonly nav?: { readonly label: string; readonly icon: IconName }
}

/** Each page is a file of its own to the browser. */
const page = (load: () => Promise<{ readonly Page: PageRoute['page'] }>): PageRoute['page'] =>
  lazy(async () => ({ default: (await load()).Page }))

export const ROUTES: readonly PageRoute[] = [
  {
    path: '/',
    page: page(() => import('./pages/overview/index.js')),
    nav: { label: 'Overview', icon: 'overview' },
  },
  {
    path: '/runs',
    page: page(() => import('./pages/runs/index.js')),
    nav: { label: 'Runs', icon: 'runs' },
  },
  { path: '/runs/:id', page: page(() => import('./pages/run/index.js')) },
  {
    path: '/inbox',
    page: page(() => import('./pages/inbox/index.js')),
    nav: { label: 'Inbox', icon: 'inbox' },
  },
  {
    path: '/workflows',
    page: page(() => import('./pages/workflows/index.js')),
    nav: { label: 'Workflows', icon: 'workflows' },
  },
  { path: '/workflows/:name', page: page(() => import('./pages/workflows/one.js')) },
  {
    path: '/schedules',
    page: page(() => import('./pages/schedules/index.js')),
    nav: { label: 'Schedules', icon: 'schedules' },
  },
  {
    path: '/workers',
    page: page(() => import('./pages/workers/index.js')),
    nav: { label: 'Workers', icon: 'workers' },
  },
  {
    path: '/builder',
    page: page(() => import('./pages/builder/index.js')),
    nav: { label: 'Builder', icon: 'builder' },
  },
  { path: '/builder/:name', page: page(() => import('./pages/builder/edit.js')) },
  {
    path: '/settings',
    page: page(() => import('./pages/settings/index.js')),
    nav: { label: 'Settings', icon: 'settings' },
  },
]
