import { useSyncExternalStore } from 'react'

const query = matchMedia('(max-width: 720px)')

function subscribe(listener: () => void): () => void {
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}

export const useNarrow = (): boolean => useSyncExternalStore(subscribe, () => query.matches)
