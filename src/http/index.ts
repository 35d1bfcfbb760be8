// The subpath perdure/http. Only re-exports.

export type { Caller, Role, TokenOption } from './access.js'
export { createHandler, type Handler } from './handler.js'
export type { HandlerOptions } from './options.js'
export { nodeListener, type ServeOptions, type Serving, serve } from './serve.js'
