/**
 * The command that runs one test alone.
 *
 * @param {import('./junit.mjs').TestCase} test
 * @param {number} seed
 */
export function rerunTest({ file, matchedName, isNameless }, seed) {
  if (isNameless) return rerunFile(file, seed);
  const pattern = matchedName.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(/[\n\r\t]/g, '\\s');
  return `${rerunFile(file, seed)} -t '^${pattern.replaceAll("'", `'\\''`)}$'`;
}

/**
 * @param {string} file
 * @param {number} seed
 */
export function rerunFile(file, seed) {
  return `KEYSTILE_TEST_SEED=${seed} npm test -- ${file}`;
}
