// Mistakes in graphs that the compiler must refuse.
import { cel, graph } from 'perdure'
import { z } from 'zod'
import { createUser } from './02-signup.js'

graph({
  id: 'g',
  nodes: [{ id: 'a', type: 'merge' }],
  // @ts-expect-error no such node
  edges: [{ from: 'a', to: 'b' }],
})
graph({
  id: 'g',
  edges: [],
  nodes: [
    // @ts-expect-error no such type
    { id: 'a', type: 'condtion', config: { if: cel`true` } },
  ],
})
graph({
  id: 'g',
  edges: [],
  nodes: [
    // @ts-expect-error an expression is an object, not a text
    { id: 'a', type: 'condition', config: { if: 'x > 1' } },
  ],
})
graph('g', { input: z.object({ email: z.string(), n: z.number() }) }, (g) => {
  // @ts-expect-error no such field
  g.do('u', createUser, { email: g.input.emial })
  // @ts-expect-error a number where a text is needed
  g.do('u', createUser, { email: g.input.n })
  // @ts-expect-error missing field
  g.do('u', createUser, {})
  const user = g.do('u', createUser, { email: g.input.email })
  // @ts-expect-error no such output
  cel`${user.nam} == 'x'`
  return user.id
})
