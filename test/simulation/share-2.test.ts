import { simulateShare } from './share.js'

simulateShare(2)
