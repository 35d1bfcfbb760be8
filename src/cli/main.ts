#!/usr/bin/env node
// The command `perdure`.

import { existsSync } from 'node:fs'
import { COMMANDS } from './commands/index.js'
import { processIo } from './io.js'
import { runCli } from './program.js'

// What is set already stays as it is.
if (existsSync('.env')) process.loadEnvFile('.env')
process.exitCode = await runCli(process.argv.slice(2), processIo(), COMMANDS)
