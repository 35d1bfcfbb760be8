// Light, dark, or as the system says. tokens.css has both in one, by color-scheme.

import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'
const KEY = 'perdure.theme'
const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }

const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function themeOf(): Theme {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, themeOf)

export function applyTheme(theme = themeOf()): void {
  document.documentElement.dataset.theme = theme
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme)
  applyTheme(theme)
  for (const listener of listeners) listener()
}

export const nextTheme = (): void => setTheme(NEXT[themeOf()])
