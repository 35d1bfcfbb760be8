import { useHealth } from '../api/health.js'
import { useInbox } from '../api/insight.js'
import { useLiveness } from '../api/live.js'
import { useStats } from '../api/queries.js'
import { count } from '../lib/format.js'
import { ROUTES } from '../routes.js'
import { Icon } from '../ui/icon.js'
import { Link, usePath } from './router.js'

export function Menu() {
  const path = usePath()
  const stats = useStats()
  const inbox = useInbox().data
  const counts: Readonly<Record<string, string | undefined>> = {
    '/runs': stats.data && count(stats.data.reduce((sum, one) => sum + one.runs, 0)),
    '/inbox':
      inbox && inbox.items.length > 0
        ? `${inbox.items.length}${inbox.next === null ? '' : '+'}`
        : undefined,
  }
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
                {counts[to] !== undefined && <span className="menu-count">{counts[to]}</span>}
              </Link>
            </li>
          )
        })}
      </ul>
      <Foot />
    </nav>
  )
}

const FEET = {
  streaming: { word: 'live', title: 'The server tells by itself what happens' },
  polling: { word: 'polling', title: 'The pages ask every few seconds what has happened' },
  lost: { word: 'no connection', title: 'The server does not answer; it is asked again by itself' },
}

function Foot() {
  const liveness = useLiveness()
  const { lostAt } = useHealth()
  const now = lostAt === null ? liveness : 'lost'
  return (
    <p className="menu-foot" title={FEET[now].title}>
      <span className={now === 'streaming' ? 'dot is-live' : 'dot'} aria-hidden="true" />
      {FEET[now].word}
    </p>
  )
}
