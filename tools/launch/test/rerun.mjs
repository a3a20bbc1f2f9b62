/**
 * The command that runs one test alone. Its pattern is anchored only where another title of the
 * same file contains this one, which keeps most commands readable.
 *
 * @param {import('./junit.mjs').TestCase} test
 * @param {import('./junit.mjs').TestCase[]} tests
 * @param {number} seed
 */
export function rerunTest(test, tests, seed) {
  // What fails in a beforeAll or afterAll has no name of its own.
  if (test.title === '(unnamed)') return rerunFile(test.file, seed);
  const pattern = escapePattern(test.matchedName);
  const matches = tests.filter((other) => other.file === test.file && other.matchedName.includes(test.matchedName));
  const unique = matches.length > 1 ? `^${pattern}$` : pattern;
  return `${rerunFile(test.file, seed)} -t ${quoteForShell(unique)}`;
}

/**
 * @param {string} file
 * @param {number} seed
 */
export function rerunFile(file, seed) {
  return `KEYSTILE_TEST_SEED=${seed} npm test -- ${/^[\w./-]+$/.test(file) ? file : quoteForShell(file)}`;
}

/**
 * @param {string} group
 * @param {number} seed
 */
export function rerunGroup(group, seed) {
  return rerunFile(group, seed);
}

/** @param {string} title */
function escapePattern(title) {
  return title.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(/[\n\r\t]/g, '\\s');
}

/** @param {string} text */
function quoteForShell(text) {
  if (!/["$`\\!]/.test(text)) return `"${text}"`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
