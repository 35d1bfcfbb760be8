export const GENERATED: string
export function generateSql(root?: string): string
export function writeSql(root?: string): boolean
export function withoutComments(sql: string): string
