// The table of routes.

import type { Route } from '../route.js'
import { actionRoutes } from './actions.js'
import { bulkRoutes } from './bulk.js'
import { exportRoutes } from './export.js'
import { graphRoutes } from './graphs.js'
import { insightRoutes } from './insight.js'
import { runRoutes } from './runs.js'
import { scheduleRoutes } from './schedules.js'
import { startRoutes } from './starts.js'
import { systemRoutes } from './system.js'
import { webhookRoutes } from './webhooks.js'
import { workflowRoutes } from './workflows.js'

export const ROUTES: readonly Route[] = [
  ...workflowRoutes,
  ...startRoutes,
  ...runRoutes,
  ...insightRoutes,
  ...actionRoutes,
  ...bulkRoutes,
  ...graphRoutes,
  ...scheduleRoutes,
  ...webhookRoutes,
  ...exportRoutes,
  ...systemRoutes,
]
