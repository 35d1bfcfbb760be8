// The table of routes.

import type { Route } from '../route.js'
import { actionRoutes } from './actions.js'
import { bulkRoutes } from './bulk.js'
import { runRoutes } from './runs.js'
import { scheduleRoutes } from './schedules.js'
import { systemRoutes } from './system.js'
import { workflowRoutes } from './workflows.js'

export const ROUTES: readonly Route[] = [
  ...workflowRoutes,
  ...runRoutes,
  ...actionRoutes,
  ...bulkRoutes,
  ...scheduleRoutes,
  ...systemRoutes,
]
