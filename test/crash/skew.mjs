// A preload that moves this process's clocks: skew.mjs?ms=3600000. Both the wall clock and the monotonic one.
// With `wall` only the first, with `afterMs` while it runs: as somebody sets the clock of a machine.

const query = new URL(import.meta.url).searchParams
let ms = Number(query.get('ms'))
const isWallOnly = query.has('wall')
if (query.has('afterMs')) {
  const later = ms
  ms = 0
  setTimeout(
    () => {
      ms = later
    },
    Number(query.get('afterMs')),
  ).unref()
}

const RealDate = Date
globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + ms)
    else super(...args)
  }
  static now() {
    return RealDate.now() + ms
  }
}
const now = performance.now.bind(performance)
performance.now = () => now() + (isWallOnly ? 0 : ms)
