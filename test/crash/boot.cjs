// node boot.cjs <victim.cjs>: runs it with what V8 has compiled of it in a victim before, which lies beside it.

const { createHash } = require('node:crypto')
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { setFlagsFromString } = require('node:v8')
const { Script, constants } = require('node:vm')

const WARM_MS = 1_500

// Most of what a short life with the embedded database costs is the optimising of it.
setFlagsFromString('--liftoff-only')
const file = process.argv[2]
// What is compiled is good only for the flags of its process.
const flags = createHash('sha1').update(process.execArgv.join(' ')).digest('hex')
const compiled = `${file}-${flags}`
const isCompiled = existsSync(compiled)
const script = new Script(
  `(function (exports, require, module) {${readFileSync(file, 'utf8')}\n})`,
  {
    filename: file,
    cachedData: isCompiled ? readFileSync(compiled) : undefined,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  },
)
const main = { exports: {} }
script.runInThisContext()(main.exports, require, main)
if (!isCompiled) setTimeout(keep, WARM_MS).unref()

/** Whole or not at all: it may be killed meanwhile. */
function keep() {
  writeFileSync(`${compiled}-${process.pid}`, script.createCachedData())
  renameSync(`${compiled}-${process.pid}`, compiled)
}
