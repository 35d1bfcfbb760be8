// The diagram of any definition or run. A page that wants one makes a model (graphModel for graphs) and loads this lazily.

export { Diagram, type DiagramProps, DRAGGED_TYPE, type Editing, type Point } from './diagram.js'
export { graphModel, type Ran } from './graph-model.js'
export { Outline } from './outline.js'
export type { Target } from './target.js'
export { TypeIcon } from './type-icon.js'
export {
  type DiagramEdge,
  type DiagramModel,
  type DiagramNode,
  edgeId,
  type Mark,
  type NodeState,
  TRIGGER,
} from './types.js'
