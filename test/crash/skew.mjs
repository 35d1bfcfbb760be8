// A preload that moves this process's clocks: skew.mjs?ms=3600000. Both the wall clock and the monotonic one.

const ms = Number(new URL(import.meta.url).searchParams.get('ms'))

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
performance.now = () => now() + ms
