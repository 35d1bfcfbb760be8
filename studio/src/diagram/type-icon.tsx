// A picture for each type of node, on a grid of 16.

const PATHS: Readonly<Record<string, string>> = {
  trigger: 'M9 1.5L3.5 9H8l-1 5.5L12.5 7H8z',
  task: 'M2.5 3.5h11v9h-11zM5 8l2 2 4-4',
  workflow: 'M2.5 3h4v4h-4zM9.5 9h4v4h-4zM6.5 5h3a2 2 0 0 1 2 2v2',
  http: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM2.5 8h11M8 2.5c3 3 3 8 0 11c-3-3-3-8 0-11',
  'machine-event': 'M3 8h7M7.5 5.5L10 8l-2.5 2.5M13 3.5v9',
  emit: 'M8 6.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zM4.5 4.5a5 5 0 0 0 0 7m7-7a5 5 0 0 1 0 7',
  set: 'M3 6h10M3 10h10',
  condition: 'M8 2l6 6-6 6-6-6z',
  switch: 'M2 8h4m0 0l3-4.5h5M6 8h8M6 8l3 4.5h5',
  fork: 'M2 8h4m0 0c2 0 2-4 4-4h4M6 8c2 0 2 4 4 4h4',
  merge: 'M14 8h-4m0 0c-2 0-2-4-4-4H2m8 4c-2 0-2 4-4 4H2',
  delay: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2 1.3',
  'wait-for-event': 'M4 2.5h8v2L9 8l3 3.5v2H4v-2L7 8 4 4.5z',
  loop: 'M3 7.5a5 5 0 0 1 9-2.5M13 2.5V5h-2.5M13 8.5a5 5 0 0 1-9 2.5M3 13.5V11h2.5',
  'try-catch': 'M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4z',
  retry: 'M13 8a5 5 0 1 1-1.6-3.7M13.2 2v2.8h-2.8',
  'on-error': 'M8 2.5l6 10.5H2zM8 6.5v3M8 11.2v.1',
  return: 'M12.5 3v4a2 2 0 0 1-2 2h-7M6 6L3 9l3 3',
  end: 'M4 4h8v8H4z',
  cancel: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM5.8 5.8l4.4 4.4m0-4.4l-4.4 4.4',
}
const OTHER = 'M8 2l5.2 3v6L8 14l-5.2-3V5zM2.8 5L8 8m0 0l5.2-3M8 8v6'

export function TypeIcon({ type, size = 16 }: { readonly type: string; readonly size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[type] ?? OTHER} />
    </svg>
  )
}
