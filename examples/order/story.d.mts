interface Entry {
  readonly kind: string
  readonly name: string
  readonly [more: string]: unknown
}
export function makePaint(stream: object, env: object): (colour: string, text: string) => string
export function makeStory(
  say: (line: string) => void,
  paint: (colour: string, text: string) => string,
): { told(entry: Entry): void }
export function standing(id: string, entries: readonly Entry[]): string
