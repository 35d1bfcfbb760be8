import { fileURLToPath } from 'node:url'

/** @type {import('next').NextConfig} */
export default {
  // It brings a database: it is loaded as it is, and not bundled.
  serverExternalPackages: ['perdure'],
  turbopack: { root: fileURLToPath(new URL('.', import.meta.url)) },
}
