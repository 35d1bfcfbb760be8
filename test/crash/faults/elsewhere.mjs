// Faults without a count of their own in the soak: the tests and the simulation that meet them.

const SIMULATION = ['test/simulation/worlds.test.ts', 'random worlds keep every promise']

export const ELSEWHERE = [
  {
    id: 'f10',
    title: 'The clock of the database jumps, forward or back',
    tests: [
      [
        'test/conformance/clock.test.ts',
        '[X15] is moved by the setting perdure.clock_offset_ms, and the engine goes with it',
      ],
      [
        'test/kernel/mail-order.test.ts',
        'signals of one name are taken in their order, also if the clock of the database was set back',
      ],
      SIMULATION,
    ],
  },
  {
    id: 'f15',
    title: 'Code is deployed that does not fit the history of a run',
    tests: [
      ['test/functions/divergence.test.ts', 'is tried in more than twenty kinds'],
      [
        'test/functions/unchanged.test.ts',
        'no unchanged program of five hundred made by chance is found diverged, and no step of them is executed twice',
      ],
    ],
  },
  {
    id: 'f17',
    title: 'A run that kills every worker that executes it',
    tests: [
      [
        'test/crash/promises.test.ts',
        'by its own step fails a run as WORKER_CRASHED after five in a row, and the runs beside it complete',
      ],
    ],
  },
  {
    id: 'f18',
    title: 'Values that are too large',
    tests: [
      ['test/model/codec-refusals.test.ts', 'is one of more than 2 MiB as stored'],
      [
        'test/functions/refusals-live.test.ts',
        'is refused with a code, a message and a hint, and no row is written',
      ],
    ],
  },
  {
    id: 'f19',
    title: 'Values that JSON does not keep',
    tests: [
      [
        'test/model/codec.test.ts',
        'give back any storable value as it was, with key order, -0, undefined and holes',
      ],
      [
        'test/model/codec.test.ts',
        'make texts that PostgreSQL and the wire take: no control characters, no half characters',
      ],
      [
        'test/model/codec-refusals.test.ts',
        'names the remedy: return what you need, or use braces',
      ],
    ],
  },
  {
    id: 'f25',
    title: 'Timers at the same time, in the far future, in the past',
    tests: [
      [
        'test/conformance/sleep.test.ts',
        '[P11] two sleeps of a run, and twenty runs, that are due in the same millisecond all wake',
      ],
      [
        'test/conformance/sleep.test.ts',
        '[P10] a sleep longer than 2^31 - 1 ms does not end at once, and ends when it is due',
      ],
    ],
  },
  {
    id: 'f34',
    title: 'Several processes migrate at once; an old worker meets a newer schema',
    tests: [
      ['test/contract/migrate.test.ts', 'five at once apply each migration once'],
      ['test/contract/migrate.test.ts', 'a database with a newer migration is refused'],
    ],
  },
  { id: 'f37', title: 'A child ends before its parent waits for it', tests: [SIMULATION] },
]
