#!/usr/bin/env node
// The command `perdure`.

import { existsSync } from 'node:fs'
import { COMMANDS } from './commands/index.js'
import { processIo } from './io.js'
import { runCli } from './program.js'

// What is set already stays as it is. In production the environment is what was given, and no file that lies about.
if (process.env.NODE_ENV !== 'production' && existsSync('.env')) process.loadEnvFile('.env')
// Who reads it has seen enough: `perdure runs | head`. A command for which that matters listens itself, as export does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (process.stdout.listenerCount('error') > 1) return
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})
process.exitCode = await runCli(process.argv.slice(2), processIo(), COMMANDS)
