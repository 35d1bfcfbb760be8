// Written by scripts/inline-sql.mjs from sql/. Change the .sql files and run `npm run sql`.

export interface Migration {
  readonly number: number
  readonly name: string
  readonly breaking: boolean
  readonly sql: string
}

export const MIGRATIONS: readonly Migration[] = [
]

export const QUERIES = {
} as const

export type QueryName = keyof typeof QUERIES
