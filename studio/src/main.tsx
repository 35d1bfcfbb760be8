import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app/app.js'
import { applyTheme } from './app/theme.js'
import './ui/tokens.css'
import './ui/base.css'
import './ui/field.css'

applyTheme()
const root = document.getElementById('studio')
if (root === null) throw new Error('index.html has no element for the Studio')
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
