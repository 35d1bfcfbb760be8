import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
/** `npm run dev` beside a server: PERDURE_URL says where it listens. */
const api = process.env.PERDURE_URL ?? 'http://127.0.0.1:4114'

export default defineConfig({
  root: path('.'),
  // Addresses are relative to <base>, so that it can be mounted anywhere.
  base: './',
  plugins: [react()],
  resolve: {
    alias: [
      { find: 'perdure/client', replacement: path('../src/client/index.ts') },
      { find: '#connection', replacement: path('../src/client/connection.ts') },
      { find: '#errors', replacement: path('../src/model/errors.ts') },
    ],
  },
  build: {
    outDir: path('../dist/studio'),
    emptyOutDir: true,
    target: 'es2022',
    // For the budget that scripts/studio.mjs holds.
    manifest: true,
    // A data: address would need another line in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: Object.fromEntries(['/api', '/openapi.json'].map((at) => [at, api])) },
})
