import { useLiveness } from '../api/live.js'
import { useStats } from '../api/queries.js'
import { count } from '../lib/format.js'
import { ROUTES } from '../routes.js'
import { Icon } from '../ui/icon.js'
import { Link, usePath } from './router.js'

export function Menu() {
  const path = usePath()
  const stats = useStats()
  const runs = stats.data?.reduce((sum, one) => sum + one.runs, 0)
  return (
    <nav className="menu" aria-label="Pages">
      <ul>
        {ROUTES.map(({ path: to, nav }) => {
          if (!nav) return null
          const isHere = to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`)
          return (
            <li key={to}>
              <Link to={to} className="menu-link" aria-current={isHere ? 'page' : undefined}>
                <Icon name={nav.icon} />
                <span className="grow">{nav.label}</span>
                {to === '/runs' && runs !== undefined && (
                  <span className="menu-count">{count(runs)}</span>
                )}
              </Link>
            </li>
          )
        })}
      </ul>
      <Foot />
    </nav>
  )
}

function Foot() {
  const isStreaming = useLiveness() === 'streaming'
  return (
    <p
      className="menu-foot"
      title={
        isStreaming
          ? 'The server tells by itself what happens'
          : 'The pages ask every few seconds what has happened'
      }
    >
      <span className={isStreaming ? 'dot is-live' : 'dot'} aria-hidden="true" />
      {isStreaming ? 'live' : 'polling'}
    </p>
  )
}
