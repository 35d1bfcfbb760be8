import { Dialog } from '../ui/dialog.js'

const KEYS: readonly (readonly [string, string])[] = [
  ['⌘ K', 'go to a page, a workflow or a run'],
  ['/', 'search in this page'],
  ['j  k', 'the next and the one before'],
  ['Enter', 'open it'],
  ['x', 'choose it, in the list of runs'],
  ['1 … 6', 'the tabs of a run'],
  ['[  ]', 'in a run: one fact back, one fact on'],
  ['+  −', 'in a timeline: zoom'],
  ['?', 'these keys'],
  ['Esc', 'close'],
]

export function KeyList() {
  return (
    <dl className="keys">
      {KEYS.map(([key, what]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  )
}

export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose} width={400}>
      <KeyList />
    </Dialog>
  )
}
