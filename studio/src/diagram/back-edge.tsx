import { BaseEdge, type EdgeProps, Position } from '@xyflow/react'

const DEPTH_PX = 64

/** Leads back around the nodes, or to the node that it comes from. */
export function BackEdge(props: EdgeProps) {
  const { id, sourceX, sourceY, targetX, targetY, sourcePosition, markerEnd, label } = props
  const isAcross = sourcePosition === Position.Bottom
  const isSelf = sourceX === targetX && sourceY === targetY
  // Both ends of a loop would be the same point.
  const shift = isSelf ? 24 : 0
  const from = { x: sourceX + (isAcross ? shift : 0), y: sourceY + (isAcross ? 0 : shift) }
  const to = { x: targetX - (isAcross ? shift : 0), y: targetY - (isAcross ? 0 : shift) }
  const far = (isAcross ? Math.max(from.y, to.y) : Math.max(from.x, to.x)) + DEPTH_PX
  const path = isAcross
    ? `M${from.x},${from.y} C${from.x},${far} ${to.x},${far} ${to.x},${to.y}`
    : `M${from.x},${from.y} C${far},${from.y} ${far},${to.y} ${to.x},${to.y}`
  const middle = far - DEPTH_PX / 4
  return (
    <BaseEdge
      id={id}
      path={path}
      label={label}
      labelX={isAcross ? (from.x + to.x) / 2 : middle}
      labelY={isAcross ? middle : (from.y + to.y) / 2}
      labelBgPadding={[4, 2]}
      labelBgBorderRadius={4}
      {...(markerEnd !== undefined && { markerEnd })}
    />
  )
}
