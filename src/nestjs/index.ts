// The subpath perdure/nestjs: an engine as a module of NestJS 10, 11 and 12. Only re-exports.

export type { PerdureMount } from './controller.js'
export { InjectEngine, OnRun, PERDURE_ENGINE, type RunEvent, Task } from './decorators.js'
export { type HealthResult, PerdureHealth } from './health.js'
export { PerdureModule } from './module.js'
export type { PerdureAsyncOptions, PerdureOptions } from './options.js'
