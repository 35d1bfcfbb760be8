// npm run site [-- dev]
//
// Builds the documents into .cache/site with VitePress, which fails on a dead link between them; `dev` serves them as
// they are written.

import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { failWith, install, ROOT, run } from './bootstrap.mjs'

const SITE = join(ROOT, 'site')
await install(SITE).catch(failWith)
if (!existsSync(join(SITE, 'pages'))) symlinkSync('../docs', join(SITE, 'pages'))
const [command = 'build'] = process.argv.slice(2)
const vitepress = join(SITE, 'node_modules/vitepress/bin/vitepress.js')
const { code } = await run(process.execPath, [vitepress, command, SITE], { cwd: SITE })
process.exit(code)
