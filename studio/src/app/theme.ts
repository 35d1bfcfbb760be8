// Light, dark, or as the system says. tokens.css has both in one, by color-scheme.

export type Theme = 'system' | 'light' | 'dark'
const KEY = 'perdure.theme'
const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }

export function themeOf(): Theme {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function applyTheme(theme = themeOf()): void {
  document.documentElement.dataset.theme = theme
}

export function nextTheme(): Theme {
  const theme = NEXT[themeOf()]
  localStorage.setItem(KEY, theme)
  applyTheme(theme)
  return theme
}
