import { useHealth } from '../api/health.js'
import { roughly } from '../lib/format.js'
import { useNow } from '../ui/time.js'

/** A thin bar while the server does not answer. What is shown is greyed, and this old. */
export function LostBar() {
  const { lostAt } = useHealth()
  const now = useNow()
  if (lostAt === null) return null
  return (
    <div className="lost-bar" role="status">
      The server does not answer. What you see is {roughly(now - lostAt)} old; it goes on by itself.
    </div>
  )
}
