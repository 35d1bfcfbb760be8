/** The names in fault('…') of src, sorted. */
export function faultPoints(): readonly string[]
