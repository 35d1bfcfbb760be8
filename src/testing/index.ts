// The subpath perdure/testing. Only re-exports.

export type { CheckedShape, CheckOptions, CheckReport } from '../tools/check.js'
export { checkRuns } from '../tools/check.js'
export { crashEverywhere } from './crash-everywhere.js'
export { createTestEngine } from './create-test-engine.js'
export { effect } from './effect.js'
export type { Fault } from './seed-plan.js'
export { simulate } from './simulate.js'
export type { Finding, SimulateOptions, SimulationReport } from './simulate-types.js'
export type { TestEngine, TestEngineOptions } from './types.js'
