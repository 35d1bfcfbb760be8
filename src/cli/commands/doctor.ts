// perdure doctor: what is wrong, and what to do about it.

import { dirname } from 'node:path'
import type { Finding } from '../../tools/doctor.js'
import { addressIn } from '../address.js'
import { EXIT } from '../exit.js'
import type { Io } from '../io.js'
import { placeOf } from '../place.js'
import type { AddCommand } from '../program.js'

export const addDoctor: AddCommand = ({ io, root, act }) => {
  const command = root
    .command('doctor')
    .description('look for what keeps runs from going on; exit 1 if something is wrong')
  act(command, async (_, options) => {
    const { examine } = await import('../../tools/doctor.js')
    const place = placeOf(io, options)
    const findings = await examine(place)
    for (const finding of findings) {
      if (options.json) io.out(JSON.stringify(finding))
      else print(io, finding)
    }
    const server = place.database?.startsWith('file:')
      ? addressIn(dirname(place.database.slice(5)))
      : null
    if (server && !options.json)
      io.err(`  its server is at ${server.url}: ask it with --url ${server.url}`)
    return findings.some(({ level }) => level === 'bad') ? EXIT.failed : EXIT.done
  })
}

function print({ out, paint }: Io, { about, level, text, next }: Finding): void {
  const mark = { good: paint.green('✓'), look: paint.yellow('!'), bad: paint.red('✗') }[level]
  out(`${mark} ${about.padEnd(11)} ${text}`)
  if (next !== null) out(paint.dim(`  ${''.padEnd(11)} next: ${next}`))
}
