// The systems by name. An adapter (`./perdure.mjs`, `./peers/…`) exports what it `can` do of W1 to W6, its `settings`
// in words, the `width` (runs open at a time) it is measured with, and `open`. It is imported only in the process that
// measures it.

export const SYSTEMS = {
  perdure: { title: 'Perdure', adapter: './perdure.mjs', database: 'postgres' },
  embedded: { title: 'Perdure, embedded', adapter: './perdure.mjs', database: 'embedded' },
  bare: { title: 'bare loop', adapter: './bare.mjs', database: 'postgres' },
  raw: {
    title: 'raw statement',
    adapter: './bare.mjs',
    database: 'postgres',
    options: { isRaw: true },
    can: ['w1', 'w2'],
  },
  dbos: {
    title: 'DBOS',
    adapter: './peers/dbos.mjs',
    database: 'postgres',
    packages: ['@dbos-inc/dbos-sdk'],
  },
  openworkflow: {
    title: 'OpenWorkflow',
    adapter: './peers/openworkflow.mjs',
    database: 'postgres',
    packages: ['openworkflow'],
  },
  restate: {
    title: 'Restate',
    adapter: './peers/restate.mjs',
    database: 'restate',
    packages: ['@restatedev/restate-server', '@restatedev/restate-sdk'],
  },
  bullmq: {
    title: 'BullMQ',
    adapter: './peers/bullmq.mjs',
    database: 'redis',
    packages: ['bullmq'],
  },
  graphile: {
    title: 'graphile-worker',
    adapter: './peers/graphile-worker.mjs',
    database: 'postgres',
    packages: ['graphile-worker'],
  },
}

export const PEERS = Object.keys(SYSTEMS).filter((name) => SYSTEMS[name].packages)
