// Every request below /perdure.

import { handler } from '../../../lib/perdure.js'

export const dynamic = 'force-dynamic'
export { handler as DELETE, handler as GET, handler as POST, handler as PUT }
