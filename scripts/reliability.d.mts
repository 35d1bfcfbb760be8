export function figuresOf(name: string): unknown
export function pageWithFigures(text: string): string
