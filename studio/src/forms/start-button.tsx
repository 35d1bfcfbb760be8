import { lazy, Suspense, useState } from 'react'
import { useDefinitions, useMayOperate } from '../api/queries.js'
import { Button } from '../ui/button.js'

const StartDialog = lazy(async () => ({ default: (await import('./start-dialog.js')).StartDialog }))

/** `workflow`: the one to start; left out: the person chooses. */
export function StartButton({ workflow }: { readonly workflow?: string }) {
  const [isOpen, setOpen] = useState(false)
  const { data } = useDefinitions()
  const mayOperate = useMayOperate()
  if (!data || data.length === 0 || !mayOperate) return null
  return (
    <>
      <Button icon="play" look="primary" onClick={() => setOpen(true)}>
        Start
      </Button>
      <Suspense fallback={null}>
        {isOpen && <StartDialog workflow={workflow} onClose={() => setOpen(false)} />}
      </Suspense>
    </>
  )
}
