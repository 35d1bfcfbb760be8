// One stay at a place, until a transition has been tried: chooses what runs, waits for what comes, and bears what fails.

import { decode, encode } from '../../model/codec.js'
import { PerdureError } from '../../model/errors.js'
import { Failure, type Round, type Turn } from '../../model/program.js'
import type { Instant, Message, Stored } from '../../model/run.js'
import { startChildren, stopChildren } from './children.js'
import type { Place, Transition } from './description.js'
import { childEnded, type Family, type Starting } from './family.js'
import { fire } from './fire.js'
import { choose } from './guards.js'
import type { At, Firing, Left, Scene } from './scene.js'
import { atMoved, atStayed, RETRY, reactiveWish, roundAt, type Since, wishAt } from './waiting.js'

export class Stay {
  private readonly scene: Scene
  private readonly turn: Turn
  private readonly from: At
  private place: string
  private fields: At['fields']
  private next: At['next']
  private enteredAt: Instant
  private lateFrom: number
  private isResting = false
  private failed: Firing | null = null
  private family: Family

  constructor(scene: Scene, turn: Turn, from: At) {
    this.scene = scene
    this.turn = turn
    this.from = from
    this.place = from.place
    this.fields = from.fields
    this.next = from.next
    this.family = from.family
    this.enteredAt = from.enteredAt ?? turn.now()
    this.lateFrom = from.lateFrom ?? 0
    // What the run it was made of has shown is not shown of a fork.
    const { seed, uid } = turn.run
    const isFork = seed !== undefined && seed !== uid
    if (isFork || from.hasBegun) this.show()
  }

  private show(): void {
    const { place, state } = this.from
    this.turn.show({ state: encode(state, 'the state'), at: { place, error: null } })
  }

  async round(): Promise<Round> {
    const { place, state } = this.from
    if (this.placeNamed(place).isFinal) return this.ended(place, state)
    for (;;) {
      const firing = await this.whatRuns()
      const left = await this.attempt(firing)
      if (left) return this.moved(left)
      if (this.failed === null) return this.stayed()
    }
  }

  /** Nothing has changed, and what was asked for that is behind the run all the same: it may be asked for years. */
  private stayed(): Round {
    return roundAt(this.scene, atStayed(this.from, this.since, this.isResting))
  }

  private get since(): Since {
    const { enteredAt, lateFrom, family } = this
    return { enteredAt, lateFrom, family }
  }

  private async whatRuns(): Promise<Firing> {
    const { begins } = this.scene.machine
    if (begins && this.from.version === 0 && !this.from.hasBegun) return this.firing(begins)
    const place = this.placeNamed(this.place)
    const chosen = this.isResting ? null : await this.automatic(place)
    if (chosen) return chosen
    this.isResting = true
    return (await this.heard(place)) ?? this.whatRuns()
  }

  private async automatic(place: Place): Promise<Firing | null> {
    const { next } = this
    this.next = undefined
    if (next === null || place.automatic.length === 0) return null
    const known = place.automatic.find(({ name }) => name === next)
    if (known) return this.firing(known)
    const [first] = place.automatic
    if (first?.guard === null) return this.firing(first)
    const { state } = this.from
    const chosen = await choose(this.scene, this.turn, place, { state, fields: this.fields })
    return chosen && { ...this.firing(chosen.transition), isGuarded: chosen.isDoubtful }
  }

  /** null: what came is kept for another place. */
  private async heard(place: Place): Promise<Firing | null> {
    const { arrived } = this.family
    const here = arrived.find(({ callback }) => place.waiting.has(callback))
    if (here) {
      this.family = { ...this.family, arrived: arrived.filter((one) => one !== here) }
      return this.taken(place, here.callback, encode(here.outcome, 'the outcome of a child'), [])
    }
    const late = place.late[this.lateFrom]
    const isReactive = this.scene.machine.takesEvents && arrived.length === 0
    const wish = isReactive
      ? reactiveWish(this.scene, place, this.from, this.since)
      : wishAt(place, this.since, this.failed !== null)
    const message = await this.turn.receive('wait', wish)
    if (message) return await this.told(place, message)
    this.lateFrom += 1
    if (!late) return null
    const { transition } = late
    return { ...this.firing(transition), isGuarded: transition.guard !== null }
  }

  private async told(place: Place, message: Message): Promise<Firing | null> {
    const { name, payload, no, meta } = message
    if (meta?.uid) {
      const ended = childEnded(this.family, meta.uid, meta.status ?? 'failed', payload)
      this.family = ended.family
      await stopChildren(this.turn, ended.unwanted, 'another of its group has not completed')
      if (ended.start) await this.starts([ended.start])
      return null
    }
    if (name === RETRY && this.failed) {
      return { ...this.failed, answers: [no], isManual: true, fields: this.fields }
    }
    return this.taken(place, name, payload, [no])
  }

  private taken(
    place: Place,
    name: string,
    payload: Stored | null,
    answers: readonly number[],
  ): Firing | null {
    const transition = place.waiting.get(name)
    if (!transition) return null
    return { ...this.firing(transition), payload, answers, isGuarded: transition.guard !== null }
  }

  private firing(transition: Transition): Firing {
    const { place, fields } = this
    const base = { payload: null, answers: [], isGuarded: false, isManual: false }
    return { ...base, transition, place, fields, at: this.from }
  }

  /** null: nothing has changed, or the run is at an error place now. */
  private async attempt(firing: Firing): Promise<Left | null> {
    const { machine } = this.scene
    const { errorPlace } = firing.transition
    try {
      const left = await fire(this.scene, this.turn, firing)
      return left.isMoved ? left : null
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      // Who sent the event is told, and the machine is where it was.
      if (machine.takesEvents && firing.transition !== machine.begins) return null
      if (errorPlace === null) throw error
      if (error.kept !== null) this.fields = decode(error.kept) as At['fields']
      this.place = errorPlace
      this.failed = firing
      this.isResting = false
      this.lateFrom = 0
      this.enteredAt = this.turn.now()
      return null
    }
  }

  private async starts(starts: readonly Starting[]): Promise<void> {
    const started = await startChildren(this.turn, starts)
    this.family = { ...this.family, children: [...this.family.children, ...started] }
  }

  private async moved(left: Left): Promise<Round> {
    const { from } = this
    const { groups = [], starts = [] } = left
    if (groups.length > 0)
      this.family = { ...this.family, groups: [...this.family.groups, ...groups] }
    await this.starts(starts)
    const { place, state } = left
    const output = left.output ?? from.output
    if (this.placeNamed(place).isFinal) return this.ended(place, state, output)
    return roundAt(this.scene, atMoved(from, left, this.since))
  }

  private ended(place: string, state: unknown, output?: At['output']): Round {
    const { machine, made, around } = this.scene
    const value = output ? output.value : machine.end(place, state)
    const what = `the output of machine "${made.name}"`
    return { done: true, value: encode(value, what, around.valueBytesMax) }
  }

  private placeNamed(name: string): Place {
    const { made, machine } = this.scene
    const place = machine.places.get(name)
    if (place) return place
    throw new PerdureError('DEFINITION_INVALID', `Machine "${made.name}" has no place "${name}".`, {
      hint: 'deploy the code that has it, or give the changed machine another version',
      runId: this.turn.run.id,
    })
  }
}
