import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { refused, said } from '../../ui/toast.js'

/** Does something to a run: once, told at the edge, and everything about the run is read again. */
export function useAct(id: string) {
  const queries = useQueryClient()
  const [isBusy, setBusy] = useState(false)
  const act = async (work: () => Promise<unknown>, done: string): Promise<boolean> => {
    setBusy(true)
    try {
      await work()
      said(done)
      return true
    } catch (error) {
      refused(error)
      return false
    } finally {
      setBusy(false)
      void queries.invalidateQueries({ queryKey: ['run', id] })
      void queries.invalidateQueries({ queryKey: ['stats'] })
    }
  }
  return { act, isBusy }
}
