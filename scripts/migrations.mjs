// npm run -s migrations [-- schema]: the whole schema as SQL, for teams that apply it by their own means.

import { bootstrap } from './bootstrap.mjs'

await bootstrap()
const { migrationSql } = await import('../dist/store/migrate.js')
process.stdout.write(`${migrationSql(process.argv[2] ?? 'perdure')}\n`)
