// How large an expression and its work may be. CEL has no loops: what is left to bound are macros inside macros,
// values that double, and texts.

/** Characters of one expression. What is longer is a program, and belongs into a step. */
export const EXPRESSION_CHARS_MAX = 2_048
/** Brackets in brackets, and signs in a row (`!!!!x`): the parser is recursive. */
export const EXPRESSION_DEPTH_MAX = 32
/** Parts of an expression: each operator, name, literal and call is one. */
export const EXPRESSION_NODES_MAX = 500
/** Elements of a list and entries of an object that are written in an expression. */
export const EXPRESSION_LITERAL_MAX = 100
/** `a.all(x, b.exists(y, …))` is two. */
export const MACROS_NESTED_MAX = 2
/** Characters of a regular expression, and the size of what RE2 makes of it (`a{1000}` is 1,000). */
export const PATTERN_CHARS_MAX = 200
export const PATTERN_SIZE_MAX = 500
/** Elements that a macro goes through. */
export const MACRO_ITEMS_MAX = 1_000
/**
 * Work of one evaluation: a visited part is one, and what takes longer counts for more. About 50 ms, and the same
 * on every machine: a budget in time would let an expression fail on a busy one.
 */
export const EXPRESSION_COST_MAX = 250_000
/** Parts of a result: of a value that can be stored there are fewer, since each takes two bytes of 2 MiB. */
export const EXPRESSION_RESULT_MAX = 1024 * 1024
/** Characters of a text that an expression makes: a longer one could not be stored. */
export const EXPRESSION_TEXT_MAX = 2 * 1024 * 1024
/** Compiled expressions that are kept. */
export const EXPRESSIONS_KEPT = 1_000
