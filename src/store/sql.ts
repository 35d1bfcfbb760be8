// The named queries of one schema.

import { QUERIES, type QueryName } from './sql.generated.js'

export type Sql = Readonly<Record<QueryName, string>>

export function sqlOf(schema: string): Sql {
  const entries = Object.entries(QUERIES).map(([name, text]) => [
    name,
    text.replaceAll('@schema@', schema),
  ])
  return Object.fromEntries(entries) as Sql
}
