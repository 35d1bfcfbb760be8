// Lines on a grid of 16. Icons stand beside words: they say nothing to those who hear the page.

const PATHS = {
  overview: 'M2.5 13.5v-5h3v5m2-0v-11h3v11m2 0v-8h3v8M1.5 13.5h13',
  runs: 'M2 4h2m3 0h7M2 8h2m3 0h7M2 12h2m3 0h7',
  inbox: 'M2 9h3.5l1 2h3l1-2H14M2 9l2-6h8l2 6v4H2z',
  workflows: 'M2.5 3h4v4h-4zM9.5 9h4v4h-4zM6.5 5h3a2 2 0 0 1 2 2v2',
  schedules: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2 1.3',
  workers: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1',
  builder:
    'M5 3.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM14 12.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0zM5 3.5h3a2 2 0 0 1 2 2v5a2 2 0 0 0 1 2',
  settings: 'M2 5h7m3 0h2M2 11h2m3 0h7M9 3.5h3v3H9zM4 9.5h3v3H4z',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.5 10.5l3 3',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3',
  check: 'M3 8.5l3.2 3.2L13 4.8',
  close: 'M3.5 3.5l9 9m0-9l-9 9',
  down: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  left: 'M10 4L6 8l4 4',
  up: 'M4 10l4-4 4 4',
  more: 'M3 8h.1M8 8h.1M13 8h.1',
  retry: 'M13 8a5 5 0 1 1-1.6-3.7M13.2 2v2.8h-2.8',
  fork: 'M4 2.5v11M4 9c0-3 8-1 8-5V2.5M10 4.5l2-2 2 2',
  pause: 'M5.5 3.5v9m5-9v9',
  play: 'M5 3.2l7.5 4.8L5 12.8z',
  plus: 'M8 3v10M3 8h10',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z',
  sun: 'M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM8 1.5v1.3m0 10.4v1.3M1.5 8h1.3m10.4 0h1.3M3.4 3.4l.9.9m7.4 7.4l.9.9m0-9.2l-.9.9m-7.4 7.4l-.9.9',
  system: 'M2 3.5h12v7.5H2zM6 13.5h4',
  external: 'M9 3h4v4M13 3L7.5 8.5M11 9.5V13H3V5h3.5',
  warning: 'M8 2.5l6 10.5H2zM8 6.5v3M8 11.2v.1',
  filter: 'M2 3.5h12M4.5 8h7M6.5 12.5h3',
  undo: 'M6 3L3 6l3 3M3 6h6a4 4 0 0 1 0 8H6',
  redo: 'M10 3l3 3-3 3M13 6H7a4 4 0 0 0 0 8h3',
  trash: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.6 9h6.8l.6-9',
  arrange: 'M2 6h3v4H2zM11 2.5h3v3h-3zM11 10.5h3v3h-3zM5 8h3V4h3M8 8v4h3',
  download: 'M8 2v8m0 0L5 7m3 3l3-3M2.5 13.5h11',
  upload: 'M8 10V2m0 0L5 5m3-3l3 3M2.5 13.5h11',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
