// How a node of a diagram looks: a card, a box that others stand in, or the place where it starts.

import { Handle, type NodeProps, Position } from '@xyflow/react'
import { duration } from '../lib/format.js'
import { StatusShape } from '../ui/status.js'
import { HEAD_HEIGHT, NODE_HEIGHT, OUT_HEIGHT } from './layout.js'
import { TypeIcon } from './type-icon.js'
import { type DiagramNode, STATE_WORDS, STATUS_OF, TRIGGER } from './types.js'

export interface NodeData {
  readonly node: DiagramNode
  readonly isAcross: boolean
  readonly isEditable: boolean
  readonly handlerY: number | null
  readonly isEmpty: { readonly body: boolean; readonly handler: boolean }
}

const MARKS = { added: '+', removed: '−', changed: '~' } as const

const classOf = ({ state, mark, problems }: DiagramNode, name: string): string =>
  [name, state && `is-${state}`, mark && `mark-${mark}`, problems && 'has-problems']
    .filter(Boolean)
    .join(' ')

export function NodeView({ data }: NodeProps) {
  const { node, isAcross, isEditable } = data as unknown as NodeData
  const { label, sub, detail = '', outs = [], type } = node
  if (node.id === TRIGGER) return <TriggerView data={data as unknown as NodeData} />
  return (
    <div className={classOf(node, 'diagram-node')}>
      <Handle
        type="target"
        position={isAcross ? Position.Left : Position.Top}
        isConnectable={isEditable}
      />
      <div className="diagram-card">
        {type !== undefined && (
          <span className="diagram-icon">
            <TypeIcon type={type} />
          </span>
        )}
        <span className="diagram-words">
          <span className="diagram-label">
            <span className="truncate">{label}</span>
            <Marks node={node} />
          </span>
          <span className="diagram-sub">
            <span className={detail === '' ? 'truncate' : 'truncate mono'} title={detail || sub}>
              {detail || sub || (node.state ? STATE_WORDS[node.state] : '')}
            </span>
            <Times node={node} />
          </span>
        </span>
      </div>
      <Outs outs={outs} isAcross={isAcross} isEditable={isEditable} />
      <BackHandles isAcross={isAcross} />
      <Numbers node={node} />
    </div>
  )
}

/** Where edges that lead back leave and arrive. Nobody draws one from there. */
function BackHandles({ isAcross }: Pick<NodeData, 'isAcross'>) {
  const position = isAcross ? Position.Bottom : Position.Right
  const props = { position, isConnectable: false, className: 'is-back' }
  return (
    <>
      <Handle type="source" id="back-out" {...props} />
      <Handle type="target" id="back-in" {...props} />
    </>
  )
}

/** Below it, so that it can be longer than the node is wide. */
function Numbers({ node: { numbers } }: { readonly node: DiagramNode }) {
  return numbers === undefined ? null : <span className="diagram-numbers">{numbers}</span>
}

function Marks({ node: { state, mark, problems = 0 } }: { readonly node: DiagramNode }) {
  return (
    <>
      {mark !== undefined && (
        <span className="diagram-mark" title={mark}>
          {MARKS[mark]}
        </span>
      )}
      {problems > 0 && (
        <span className="diagram-problems" title={`${problems} to put right`}>
          {problems}
        </span>
      )}
      {state !== undefined && state !== 'unseen' && (
        <span className="diagram-state" title={STATE_WORDS[state]}>
          <StatusShape status={STATUS_OF[state]} />
        </span>
      )}
    </>
  )
}

function Times({ node: { ms = null, times = 0 } }: { readonly node: DiagramNode }) {
  if (ms === null && times <= 1) return null
  return (
    <span className="diagram-times">
      {times > 1 && <span title={`${times} times`}>×{times}</span>}
      {ms !== null && <span>{duration(ms)}</span>}
    </span>
  )
}

function Outs({
  outs,
  isAcross,
  isEditable,
}: Pick<NodeData, 'isAcross' | 'isEditable'> & { readonly outs: readonly string[] }) {
  const position = isAcross ? Position.Right : Position.Bottom
  if (outs.length === 0) {
    return <Handle type="source" id="" position={position} isConnectable={isEditable} />
  }
  return (
    <div className="diagram-outs">
      {outs.map((out, index) => (
        <div key={out} className="diagram-out">
          {out === '' ? 'else' : out}
          <Handle
            type="source"
            id={out}
            position={position}
            isConnectable={isEditable}
            style={isAcross ? { top: outY(index) } : {}}
          />
        </div>
      ))}
    </div>
  )
}

export const outY = (index: number): number => NODE_HEIGHT + (index + 0.5) * OUT_HEIGHT

function TriggerView({ data: { node, isAcross, isEditable } }: { readonly data: NodeData }) {
  return (
    <div className={classOf(node, 'diagram-trigger')}>
      <TypeIcon type={TRIGGER} size={14} />
      <span className="truncate" title={node.label}>
        {node.label}
      </span>
      <Handle
        type="source"
        id=""
        position={isAcross ? Position.Right : Position.Bottom}
        isConnectable={isEditable}
      />
    </div>
  )
}

export function BoxView({ data }: NodeProps) {
  const { node, isAcross, isEditable, handlerY, isEmpty } = data as unknown as NodeData
  const { label, sub, detail = '', type = '' } = node
  return (
    <div className={classOf(node, 'diagram-box')}>
      <Handle
        type="target"
        position={isAcross ? Position.Left : Position.Top}
        isConnectable={isEditable}
      />
      <div className="diagram-box-head">
        <span className="diagram-icon">
          <TypeIcon type={type} />
        </span>
        <span className="truncate">{label}</span>
        <span className="diagram-sub truncate" title={detail}>
          {detail || sub}
        </span>
        <span className="grow" />
        <Times node={node} />
        <Marks node={node} />
      </div>
      <div
        className="diagram-zone"
        data-zone="body"
        style={handlerY === null ? {} : { bottom: 'auto', height: handlerY - HEAD_HEIGHT }}
      >
        {isEmpty.body && <span>{isEditable ? 'Drop nodes here' : 'nothing'}</span>}
      </div>
      {handlerY !== null && (
        <div className="diagram-zone is-handler" data-zone="handler" style={{ top: handlerY }}>
          <span className="diagram-zone-name">when it fails</span>
          {isEmpty.handler && <span>{isEditable ? 'Drop nodes here' : 'nothing'}</span>}
        </div>
      )}
      <Handle
        type="source"
        id=""
        position={isAcross ? Position.Right : Position.Bottom}
        isConnectable={isEditable}
      />
      <BackHandles isAcross={isAcross} />
      <Numbers node={node} />
    </div>
  )
}
