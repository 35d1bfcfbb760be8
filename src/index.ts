// The public surface. Only re-exports.

// definitions
export { ref } from './authoring/definition.js'
export type { Documents, DocumentType, StoredDocument } from './authoring/document-types.js'
export {
  Document,
  document,
  ErrorDocument,
  LinkDocument,
  MarkdownDocument,
  MessageDocument,
} from './authoring/documents.js'
export { workflow } from './authoring/function/workflow.js'
export { cel } from './authoring/graph/cel.js'
export type { CustomType } from './authoring/graph/custom-type.js'
export { graph } from './authoring/graph/graph.js'
export { graphSchema } from './authoring/graph/json-schema.js'
export { nodeType } from './authoring/graph/node-type.js'
export type {
  Cel,
  GraphBuilder,
  GraphJson,
  GraphNode,
  NodeContext,
  NodeError,
  Ref,
} from './authoring/graph/types.js'
export { Guard, Transition, Workflow } from './authoring/machine/class.js'
export { machine } from './authoring/machine/machine.js'
export type { Sent, TransitionContext } from './authoring/machine/types.js'
export { typed } from './authoring/schema.js'
export { task } from './authoring/task/task.js'
export type {
  Definition,
  Done,
  InputNotDeclared,
  InputOf,
  Instant,
  Limits,
  Log,
  OpenTransaction,
  OutputOf,
  PgClient,
  Register,
  RemoteRun,
  RetryOptions,
  RetryPolicy,
  RunRef,
  Schema,
  Step,
  StepOptions,
  Trigger,
  Tx,
  Types,
  Wf,
} from './authoring/types.js'
// engine
export { createEngine } from './create-engine.js'
export type { EngineOptions } from './engine/engine-options.js'
export type { LoggedNode } from './engine/logged-node.js'
export type {
  Activity,
  ActivityBucket,
  Change,
  Checkpoint,
  Client,
  DescribedTransition,
  Description,
  DistributionInfo,
  Engine,
  EngineEvents,
  EngineInfo,
  EngineMetrics,
  Explanation,
  ExpressionCheck,
  Filter,
  GraphProblem,
  Graphs,
  GraphVersion,
  InboxItem,
  JournalEntry,
  LimitedRun,
  LimitInfo,
  LimitRuns,
  MessageOptions,
  NodeTypeInfo,
  Offer,
  OpenChild,
  OpenQuestion,
  Outcome,
  Page,
  Paged,
  PageOptions,
  Published,
  RunAt,
  RunCount,
  RunHandle,
  RunInfo,
  ScheduleInfo,
  ScheduleOptions,
  Schedules,
  StartOptions,
  StepStat,
  StepStats,
  StoredError,
  StoredGraph,
  TriggerOptions,
  WaitReason,
  WebhookInfo,
  WebhookInput,
  WebhookRequest,
  Webhooks,
  WebhookTargetInfo,
  WebhookTargetOptions,
  WorkerInfo,
} from './engine/types.js'
export type { Telemetry, Transport } from './kernel/ports.js'
// errors
export { type ErrorCode, type Issue, PerdureError } from './model/errors.js'
export { fatal, retryAfter } from './model/marks.js'
// time and status
export type { Status } from './model/run.js'
export { type Duration, duration } from './model/time.js'
