import { expect, test } from 'vitest'
import type { Ask } from '../../src/kernel/asks.js'
import { look } from '../../src/kernel/look.js'
import { Mailbox } from '../../src/kernel/mailbox.js'
import type { Message } from '../../src/model/run.js'

test('signals of one name are taken in their order, also if the clock of the database was set back', () => {
  const mail = new Mailbox()
  mail.put([message(1, 2_000), message(2, 1_000)])
  const waits = [
    { kind: 'wait', names: ['paid'], children: [], dueAt: null },
    { kind: 'wait', names: ['paid'], children: [], dueAt: null },
  ]
  const outcome = look(waits as unknown as Ask[], mail, 3_000)
  expect(outcome?.message?.no).toBe(1)
})

function message(no: number, at: number): Message {
  return {
    no,
    at,
    id: `m${no}` as Message['id'],
    kind: 'signal',
    name: 'paid',
    meta: null,
    payload: '1',
  }
}
