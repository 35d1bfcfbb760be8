// A page that breaks says so and leaves the frame usable.

import { Component, type ReactNode } from 'react'
import { Button } from '../ui/button.js'
import { Problem } from '../ui/empty.js'

export class Boundary extends Component<
  { readonly children: ReactNode },
  { readonly error: unknown }
> {
  override state: { readonly error: unknown } = { error: null }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <div className="page stack">
        <Problem error={error} what="This page has failed." />
        <div>
          <Button onClick={() => location.reload()}>Load it again</Button>
        </div>
      </div>
    )
  }
}
