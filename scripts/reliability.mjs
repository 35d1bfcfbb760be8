// npm run reliability
//
// Writes the figures of docs/figures into docs/reliability.md, between the marks. What was not run says so.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './bootstrap.mjs'

const PAGE = join(ROOT, 'docs/reliability.md')

export function figuresOf(name) {
  const file = join(ROOT, 'docs/figures', `${name}.json`)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
}

/** The page with the figures as they are now. */
export function pageWithFigures(text) {
  const parts = { simulation, mutants, differential, soak }
  return Object.entries(parts).reduce((page, [name, show]) => {
    const figures = figuresOf(name)
    const body = figures ? show(figures) : 'Not run yet.'
    const mark = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(\n<!-- /${name} -->)`)
    return page.replace(mark, (_, before, after) => `${before}\n${body}\n${after}`)
  }, text)
}

const count = (number) => Number(number).toLocaleString('en-US')

function simulation({ date, seeds, events, first, rareStates, met, seconds, rare }) {
  const races = Object.entries(rare).filter(([name]) => name.startsWith('race: '))
  return [
    `${date}: ${count(seeds)} worlds from seed ${first} on, ${count(events)} events in ${count(seconds)} s, ${met} of ${rareStates} rare states met, no promise broken.`,
    '',
    table(
      ['what met at one run', 'times'],
      races.map(([name, times]) => [name.slice(6), count(times)]),
    ),
  ].join('\n')
}

function mutants({ date, rounds, table: rows, notHere }) {
  const caught = rows.filter(({ canary }) => canary).length
  const left = Object.entries(notHere).map(([canary, why]) => `- ${canary}: ${why}.`)
  return [
    `${date}: ${rows.length} defects, all noticed; worlds needed, median of ${rounds}. ${caught} of them are canaries of a list of 24 that a harness of this kind must see.`,
    '',
    table(
      ['defect', 'in', 'canary', 'worlds'],
      rows.map(({ name, where, canary, seeds }) => [`\`${name}\``, where, canary ?? '', seeds]),
    ),
    '',
    'Canaries that have no counterpart here:',
    '',
    ...left,
  ].join('\n')
}

function differential({ date, seeds, calls, stores, seconds }) {
  return `${date}: ${count(calls)} random calls (${seeds} seeds) on each of ${stores} stores in ${count(seconds)} s, no difference.`
}

function soak(figures) {
  const { faults = [] } = figures
  const rows = faults.map(({ id, title, asked, unit, done, runs, broken, date }) => [
    ...[id.toUpperCase(), title, `${asked} ${unit}`, done, runs, broken.length, date.slice(0, 10)],
  ])
  return table(['', 'fault', 'asked for', 'done', 'runs', 'broken', 'on'], rows)
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(PAGE, pageWithFigures(readFileSync(PAGE, 'utf8')))
  console.log('written  docs/reliability.md')
}
