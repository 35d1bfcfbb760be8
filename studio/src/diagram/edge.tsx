// An edge: from one node to the next in a curve, or past others where the arrangement leaves room for it.

import { BaseEdge, type EdgeProps, getBezierPath } from '@xyflow/react'
import type { Point } from './layout.js'

export function RoutedEdge(props: EdgeProps) {
  const { id, data, markerEnd, label, labelBgPadding, labelBgBorderRadius, interactionWidth } =
    props
  const { route, isAcross } = data as { route: readonly Point[]; isAcross: boolean }
  const [straight, x, y] = getBezierPath(props)
  const isRouted = route.length > 0
  const middle = route[Math.floor(route.length / 2)]
  return (
    <BaseEdge
      id={id}
      path={isRouted ? pathThrough(props, route, isAcross) : straight}
      markerEnd={markerEnd ?? ''}
      label={label}
      labelX={isRouted ? (middle?.x ?? x) : x}
      labelY={isRouted ? (middle?.y ?? y) : y}
      labelBgPadding={labelBgPadding ?? [4, 2]}
      labelBgBorderRadius={labelBgBorderRadius ?? 4}
      interactionWidth={interactionWidth ?? 20}
    />
  )
}

/** Level at each point. */
function pathThrough(
  { sourceX, sourceY, targetX, targetY }: EdgeProps,
  route: readonly Point[],
  isAcross: boolean,
): string {
  const points = [{ x: sourceX, y: sourceY }, ...route, { x: targetX, y: targetY }]
  const curves = points.slice(1).map((to, at) => {
    const from = points[at] ?? to
    if (isAcross) {
      const x = (from.x + to.x) / 2
      return `C${x},${from.y} ${x},${to.y} ${to.x},${to.y}`
    }
    const y = (from.y + to.y) / 2
    return `C${from.x},${y} ${to.x},${y} ${to.x},${to.y}`
  })
  return `M${sourceX},${sourceY} ${curves.join(' ')}`
}
