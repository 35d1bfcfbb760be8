import { describe, expect, test } from 'vitest'
import { type Holder, type Identity, judge } from '../../src/store/driver-embedded/holder.js'

const HOST = 'pid:[4026531836]'
const me: Identity = {
  pid: 100,
  startTime: '5',
  bootId: 'boot',
  pidNamespace: HOST,
  machine: 'box 1',
}
const now = 1_000_000
const holder: Holder = { ...me, pid: 7, startTime: '3', nonce: 'n', heartbeat: now - 60_000 }
const container = { pidNamespace: 'pid:[4026532500]' }

describe('a holder', () => {
  test.each([
    {
      held: {},
      seen: { startTime: '3' },
      verdict: 'alive',
      because: 'its pid and start time are seen',
    },
    { held: {}, seen: null, verdict: 'dead', because: 'there is no such process' },
    {
      held: {},
      seen: { startTime: '9' },
      verdict: 'dead',
      because: 'its pid belongs to a younger process',
    },
    {
      held: {},
      seen: { startTime: null },
      verdict: 'alive',
      because: 'a start time that is not known proves nothing',
    },
    {
      held: { startTime: null },
      seen: { startTime: '9' },
      verdict: 'alive',
      because: 'neither does one that was not known then',
    },
    {
      held: { pid: 100, startTime: '4' },
      seen: { startTime: '5' },
      verdict: 'dead',
      because: 'it had my pid before me, as in every container',
    },
    {
      held: { pid: 100, startTime: '5' },
      seen: { startTime: '5' },
      verdict: 'unclear',
      because: 'it is me, perhaps another thread of me',
    },
    {
      held: container,
      seen: null,
      verdict: 'unclear',
      because: 'pids of another namespace cannot be looked at',
    },
    {
      held: { bootId: 'old' },
      seen: null,
      verdict: 'dead',
      because: 'this machine was started anew since',
    },
    {
      held: { bootId: 'old', heartbeat: now - 1_000 },
      seen: null,
      verdict: 'unclear',
      because: 'a restart takes longer than that',
    },
    {
      held: { bootId: 'old', machine: 'box 2' },
      seen: null,
      verdict: 'unclear',
      because: 'another machine may share the disk',
    },
    {
      held: { bootId: 'old', ...container },
      seen: null,
      verdict: 'unclear',
      because: 'containers on two machines may share their names',
    },
    {
      held: { bootId: null },
      seen: null,
      verdict: 'unclear',
      because: 'it does not say where it ran',
    },
  ] as const)('is $verdict: $because', ({ held, seen, verdict }) => {
    expect(judge({ ...holder, ...held }, me, now, () => seen)).toBe(verdict)
  })

  test.each([
    { held: {}, seen: null, verdict: 'dead', because: 'the name of the machine is all there is' },
    { held: { machine: 'box 2' }, seen: null, verdict: 'unclear', because: 'it is another name' },
  ])('without a boot id is $verdict: $because', ({ held, seen, verdict }) => {
    const bare = { bootId: null, pidNamespace: null }
    expect(judge({ ...holder, ...bare, ...held }, { ...me, ...bare }, now, () => seen)).toBe(
      verdict,
    )
  })
})
