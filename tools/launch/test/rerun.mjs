/**
 * The command that runs one test alone. Its pattern is anchored only where another title of the same file contains
 * this one, which keeps most commands readable.
 *
 * @param {import('./junit.mjs').TestCase} test
 * @param {import('./junit.mjs').TestCase[]} tests
 * @param {number} seed
 */
export function rerunTest(test, tests, seed) {
  if (test.isNameless) return rerunFile(test.file, seed);
  const pattern = test.matchedName.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(/[\n\r\t]/g, '\\s');
  const matches = tests.filter((other) => other.file === test.file && other.matchedName.includes(test.matchedName));
  return `${rerunFile(test.file, seed)} -t ${quoteForShell(matches.length > 1 ? `^${pattern}$` : pattern)}`;
}

/**
 * @param {string} file
 * @param {number} seed
 */
export function rerunFile(file, seed) {
  return `KEYSTILE_TEST_SEED=${seed} npm test -- ${/^[\w./-]+$/.test(file) ? file : quoteForShell(file)}`;
}

/** @param {string} text */
function quoteForShell(text) {
  return /["$`\\!]/.test(text) ? `'${text.replaceAll("'", `'\\''`)}'` : `"${text}"`;
}
