// perdure/bullmq: BullMQ on Redis carries the hints between processes. Loaded only by who imports it; needs bullmq and ioredis.

export { type BullMQOptions, bullmq } from './transport.js'
