/** `query` gets SQL in which @schema@ stands for the schema. */
export function checkTimers(
  query: (sql: string) => Promise<readonly Record<string, unknown>[]>,
  def: string,
): Promise<readonly string[]>
