// The documents of docs/ as a site. Its sidebar is the list in docs/README.md.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

const sidebar = []
for (const line of readFileSync(path('../../docs/README.md'), 'utf8').split('\n')) {
  if (line.startsWith('## ')) sidebar.push({ text: line.slice(3), items: [] })
  const [, text, page] = /^- \[(.+)\]\((.+)\.md\)$/.exec(line) ?? []
  if (page) sidebar.at(-1)?.items.push({ text, link: `/${page.replace(/README$/, '')}` })
}

export default {
  title: 'Perdure',
  description: 'Durable workflows for TypeScript on PostgreSQL',
  srcDir: 'pages',
  outDir: path('../../.cache/site'),
  cacheDir: path('../../.cache/vitepress'),
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md' },
  // Files of the repository beside docs/: test/tidy follows those links.
  ignoreDeadLinks: [
    /^\.\.?\/(\.\.\/)*(test|src|sql|examples|CHANGELOG|README|ARCHITECTURE|compose|Dockerfile)/,
  ],
  // `pages` is a link to docs/: below the packages that show them.
  vite: { resolve: { preserveSymlinks: true } },
  themeConfig: {
    sidebar,
    search: { provider: 'local' },
    outline: 'deep',
  },
}
