import { Handle, type NodeProps, Position } from '@xyflow/react'
import { duration } from '../../../lib/format.js'
import { StatusShape } from '../../../ui/status.js'
import type { Status } from '../../../ui/statuses.js'
import type { DiagramNode, NodeState } from './model.js'

const STATUS_OF: Readonly<Record<NodeState, Status>> = {
  here: 'waiting',
  done: 'completed',
  failed: 'failed',
  open: 'running',
  waiting: 'waiting',
  unseen: 'pending',
}
const STATE_WORDS: Readonly<Record<NodeState, string>> = {
  here: 'the run is here',
  done: 'done',
  failed: 'failed',
  open: 'running',
  waiting: 'waiting',
  unseen: 'not reached',
}

export function DiagramNodeView({ data }: NodeProps) {
  const node = data as unknown as DiagramNode & { readonly direction: 'LR' | 'TB' }
  const isAcross = node.direction === 'LR'
  return (
    <div className={`diagram-node is-${node.state}`}>
      <Handle type="target" position={isAcross ? Position.Left : Position.Top} />
      <div className="row">
        <StatusShape status={STATUS_OF[node.state]} />
        <span className="truncate grow" title={node.label}>
          {node.label}
        </span>
        {node.times > 1 && (
          <span className="faint" title={`${node.times} times`}>
            ×{node.times}
          </span>
        )}
      </div>
      <div className="diagram-sub">
        <span className="truncate">{node.sub || STATE_WORDS[node.state]}</span>
        {node.ms !== null && <span>{duration(node.ms)}</span>}
      </div>
      <Handle type="source" position={isAcross ? Position.Right : Position.Bottom} />
      <Handle id="back-in" type="target" position={isAcross ? Position.Bottom : Position.Right} />
      <Handle id="back-out" type="source" position={isAcross ? Position.Bottom : Position.Right} />
    </div>
  )
}
