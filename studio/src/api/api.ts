// The server, as perdure/client gives it. `ask` is for addresses that the client has no call for.

import { createClient, type RemoteClient } from 'perdure/client'
import { type Asked, Connection, path } from '#connection'
import { watchedFetch } from './health.js'
import { tokenOf, workspaceOf } from './session.js'

export { path }

export interface Api {
  readonly client: RemoteClient
  ask<T>(asked: Asked): Promise<T>
  readonly connection: Connection
}

/** Where the API is: beside the Studio, wherever that is mounted. */
const url = new URL('.', document.baseURI).href.replace(/\/$/, '')

let made: { readonly key: string; readonly api: Api } | null = null

/** For the token and the workspace of now. */
export function api(): Api {
  const options = { token: tokenOf(), workspace: workspaceOf(), fetch: watchedFetch }
  const key = JSON.stringify([options.token, options.workspace])
  if (made?.key !== key) {
    const connection = new Connection(url, options)
    const ask = async <T>(asked: Asked): Promise<T> => (await connection.ask(asked)) as T
    made = { key, api: { client: createClient(url, options), ask, connection } }
  }
  return made.api
}
