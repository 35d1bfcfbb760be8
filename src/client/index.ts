// The subpath perdure/client. Only re-exports. Nothing of Node: it runs in browsers too.

export { createClient, type RemoteClient } from './client.js'
export type { ClientOptions } from './connection.js'
