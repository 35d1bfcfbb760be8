type Painter = Readonly<Record<'green' | 'red' | 'cyan' | 'dim', (text: string) => string>>

export const STEPS: readonly string[]
export function makeStory(
  say: (line: string) => void,
  paint: Painter,
): { told(entry: object): void }
export function standing(id: string, entries: readonly object[]): string
export function openWaits(entries: readonly object[]): readonly object[]
export function standingOf(info: object, address: string): string
