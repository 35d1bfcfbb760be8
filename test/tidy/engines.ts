// Whether a range of package.json's "engines" accepts a version: ^ ~ >= > <= < =, 20.x, ||. No pre-releases.

type Version = readonly [number, number, number]

export function accepts(range: string, version: string): boolean {
  const exact = parse(version)
  return range.split('||').some((part) => {
    const comparators = part
      .trim()
      .replace(/([<>=^~])\s+/g, '$1')
      .split(/\s+/)
    return comparators.every((comparator) => satisfies(comparator, exact))
  })
}

function satisfies(comparator: string, version: Version): boolean {
  const [, operator = '', bound = ''] = /^([<>=^~]*)v?(.*)$/.exec(comparator) ?? []
  const parts = bound.split('.').filter((part) => part !== '' && !/^[xX*]/.test(part))
  const low = parse(bound)
  const order = compare(version, low)
  if (parts.length === 0) return true
  switch (operator) {
    case '>=':
      return order >= 0
    case '>':
      return parts.length === 3 ? order > 0 : compare(version, next(low, parts.length - 1)) >= 0
    case '<':
      return order < 0
    case '<=':
      return parts.length === 3 ? order <= 0 : compare(version, next(low, parts.length - 1)) < 0
    case '^':
      return order >= 0 && compare(version, next(low, low[0] > 0 ? 0 : 1)) < 0
    case '~':
      return order >= 0 && compare(version, next(low, Math.min(1, parts.length - 1))) < 0
    default:
      return order >= 0 && compare(version, next(low, parts.length - 1)) < 0
  }
}

function parse(text: string): Version {
  const [major = 0, minor = 0, patch = 0] = text
    .split('.')
    .map((part) => Number.parseInt(part, 10) || 0)
  return [major, minor, patch]
}

/** The first version after all that share the parts up to `index`. */
function next(version: Version, index: number): Version {
  const [major, minor, patch] = version
  if (index <= 0) return [major + 1, 0, 0]
  return index === 1 ? [major, minor + 1, 0] : [major, minor, patch + 1]
}

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}
