// The subpath perdure/testing. Only re-exports.

export { crashEverywhere } from './crash-everywhere.js'
export { createTestEngine } from './create-test-engine.js'
export type { TestEngine, TestEngineOptions } from './types.js'
