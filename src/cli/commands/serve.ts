// perdure serve [folder] and perdure worker [folder]: for production. Any number of each on one PostgreSQL.

import { optionInvalid } from '../../model/errors.js'
import type { AddCommand } from '../program.js'
import type { ServeGiven } from '../serving.js'
import { heedSignals } from '../stopping.js'
import type { WorkerGiven } from '../working.js'

export const addServe: AddCommand = ({ io, root, act }) => {
  const command = root
    .command('serve')
    .description('Serves the API and the Studio. Executes nothing, unless --worker.')
    .argument('[folder]', 'where the workflows are', '.')
    .option('--port <port>', 'default: PORT, or 4114')
    .option('--host <address>', 'default: 127.0.0.1; others take tokens (--token, PERDURE_TOKENS)')
    .option('--hosts <names>', 'names that it is called by, commas between (PERDURE_HOSTS)')
    .option('--worker', 'also executes runs')
    .option('--concurrency <count>', 'runs at once, with --worker')
    .option('--studio <folder>', 'another build of the Studio')
  act<ServeGiven>(command, async ([folder = '.'], given) => {
    const { concurrency, worker = false } = given
    if (concurrency !== undefined && !worker) {
      throw optionInvalid('--concurrency', 'perdure serve', concurrency, 'given with --worker')
    }
    const stopping = heedSignals()
    const { serveFolder } = await import('../serving.js')
    return serveFolder(io, folder, given, stopping)
  })
}

export const addWorker: AddCommand = ({ io, root, act }) => {
  const command = root
    .command('worker')
    .description('Executes runs. Serves nothing but its health, if asked to.')
    .argument('[folder]', 'where the workflows are', '.')
    .option('--concurrency <count>', 'runs at once')
    .option('--health-port <port>', 'answers /healthz and /readyz there')
    .option('--host <address>', 'of the health port; default: 127.0.0.1')
  act<WorkerGiven>(command, async ([folder = '.'], given) => {
    const stopping = heedSignals()
    const { workFor } = await import('../working.js')
    return workFor(io, folder, given, stopping)
  })
}
