import type { Total } from './many.js'
export const missing = (_: Total): string[] => []
