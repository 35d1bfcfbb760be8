// perdure/otel: spans of runs, turns and steps. Loaded only by who imports it; needs @opentelemetry/api.

export { openTelemetry, type TelemetryOptions } from './telemetry.js'
