#!/usr/bin/env node
// The command `perdure`.

import { COMMANDS } from './commands/index.js'
import { processIo } from './io.js'
import { runCli } from './program.js'

process.exitCode = await runCli(process.argv.slice(2), processIo(), COMMANDS)
