// How a run is started from elsewhere: code to be taken along. Pure.

import { kindOf, resolved, type Schema } from '../../forms/schema.js'

/** An input that the schema could take. */
export function sampleOf(given: Schema, root: Schema, depth = 0): unknown {
  const schema = resolved(given, root)
  if (schema.default !== undefined) return schema.default
  switch (depth > 6 ? 'json' : kindOf(schema)) {
    case 'const':
      return schema.const
    case 'choice':
      return schema.enum?.[0]
    case 'flag':
      return true
    case 'number':
      return schema.minimum ?? 1
    case 'list':
      return [sampleOf(schema.items ?? {}, root, depth + 1)]
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([name]) => schema.required?.includes(name))
          .map(([name, property]) => [name, sampleOf(property, root, depth + 1)]),
      )
    case 'json':
      return {}
    default:
      return '…'
  }
}

export interface Samples {
  readonly typescript: string
  readonly curl: string
  readonly cli: string
}

/** For a shell: nothing in it is more than text. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

export function samplesOf(
  name: string,
  schema: object | null,
  server: { readonly url: string; readonly workspace: string | undefined },
): Samples {
  const input = schema === null ? {} : sampleOf(schema as Schema, schema as Schema)
  const { url, workspace } = server
  const options = workspace === undefined ? '' : `, { workspace: ${JSON.stringify(workspace)} }`
  const header =
    workspace === undefined ? '' : ` \\\n  -H ${quoted(`perdure-workspace: ${workspace}`)}`
  const flag = workspace === undefined ? '' : ` --workspace ${quoted(workspace)}`
  return {
    typescript: `import { createClient } from 'perdure/client'

const client = createClient(${JSON.stringify(url)}${options})
const run = await client.start(${JSON.stringify(name)}, ${JSON.stringify(input)})
console.log(await run.result())`,
    curl: `curl -X POST ${quoted(`${url}/api/v1/workflows/${encodeURIComponent(name)}/runs`)} \\
  -H 'content-type: application/json'${header} \\
  -d ${quoted(JSON.stringify({ input }))}`,
    cli: `npx perdure run ${name} --input ${quoted(JSON.stringify(input))}${flag} --url ${quoted(url)}`,
  }
}
