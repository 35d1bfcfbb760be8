// Loaded when somebody opens a form: lazy(() => import('../forms/index.js')).

export { SchemaForm as default } from './schema-form.js'
