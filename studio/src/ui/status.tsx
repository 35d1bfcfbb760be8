// A status is a shape and a colour and a word, everywhere the same.

import './status.css'
import { STATUS_WORDS, type Status } from './statuses.js'

const SHAPES: Readonly<Record<Status, React.ReactNode>> = {
  pending: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  running: (
    <>
      <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
      <path d="M6 1.8a4.2 4.2 0 0 1 0 8.4z" fill="currentColor" />
    </>
  ),
  waiting: <path d="M2.5 1.8h2.6v8.4H2.5zm4.4 0h2.6v8.4H6.9z" fill="currentColor" />,
  completed: <circle cx="6" cy="6" r="4.8" fill="currentColor" />,
  failed: <path d="M6 1l5.2 9.6H.8z" fill="currentColor" />,
  cancelled: (
    <path d="M2.2 2.2l7.6 7.6m0-7.6L2.2 9.8" stroke="currentColor" strokeWidth="2" fill="none" />
  ),
  timed_out: <path d="M2 1h8v1.6L7.2 6 10 9.4V11H2V9.4L4.8 6 2 2.6z" fill="currentColor" />,
}

export function StatusShape({ status }: { readonly status: Status }) {
  return (
    <svg
      className={`shape ${status}`}
      width="12"
      height="12"
      viewBox="0 0 12 12"
      aria-hidden="true"
    >
      {SHAPES[status]}
    </svg>
  )
}

export function StatusMark({ status }: { readonly status: Status }) {
  return (
    <span className={`status ${status}`}>
      <StatusShape status={status} />
      <span>{STATUS_WORDS[status]}</span>
    </span>
  )
}
