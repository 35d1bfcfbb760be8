// Expressions of graphs: CEL, compiled when a definition is saved and evaluated when a run comes to it.
//
//   const isLarge = compile('input.total > 100', 'the condition of edge "large"')
//   asCondition(isLarge.evaluate(scope), isLarge)
//
// Only texts of a definition are compiled. What a run is given or makes is data for ever: nothing evaluates it.
//
//   expression-read.ts        text → checked tree          expression-run.ts      tree → value
//   expression-functions.ts, -operators.ts, -times.ts      expression-values.ts   what values are
//   expression-result.ts      value → plain JSON           expression-template.ts { cel } inside of config

export { asCondition, compile, type Expression } from './expression-compile.js'
export { fillTemplate, readTemplate, type Template } from './expression-template.js'
