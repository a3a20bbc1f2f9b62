import { existsSync, readFileSync } from 'node:fs';

/**
 * @typedef {{ file: string, title: string, matchedName: string, isNameless: boolean, outcome: 'passed' | 'failed' | 'skipped' }} TestCase
 *   title: the names of the surrounding describe blocks and of the test as Bun prints them
 *   matchedName: the same names as Bun's --test-name-pattern sees them
 *   isNameless: a failure outside of tests: of a beforeAll, an afterAll or the whole process
 */

const TAG = /<(\/?)(testsuite|testcase|failure|error|skipped)\b([^>]*?)(\/?)>/g;
const ENTITIES = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/**
 * The tests in Bun's junit report and the seconds of each file. Describe blocks are taken from the nesting, because
 * Bun's classname attribute lists them innermost first.
 *
 * @param {string} path
 */
export function readJunit(path) {
  const tests = [];
  const seconds = new Map();
  const suites = [];
  const report = existsSync(path) ? readFileSync(path, 'utf8') : '';
  for (const [, closing, tag, attributes, selfClosing] of report.matchAll(TAG)) {
    const [file, name] = [attribute(attributes, 'file'), attribute(attributes, 'name')];
    if (tag === 'testsuite') {
      if (closing) suites.pop();
      else if (!selfClosing && suites.push(name) === 1) seconds.set(file, Number(attribute(attributes, 'time')));
    } else if (tag === 'testcase' && !closing) {
      const names = [...suites.slice(1), name];
      const isNameless = name === '(unnamed)' || name === '(worker crashed)';
      tests.push({ file, title: names.join(' > '), matchedName: names.join(' '), isNameless, outcome: 'passed' });
    } else if (!closing) tests.at(-1).outcome = tag === 'skipped' ? 'skipped' : 'failed';
  }
  return { tests, seconds };
}

/**
 * @param {string} attributes
 * @param {string} name
 */
function attribute(attributes, name) {
  const text = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
  return text.replace(/&(?:#(\d+)|(lt|gt|quot|apos|amp));/g, (_, code, entity) =>
    entity ? ENTITIES[entity] : String.fromCodePoint(Number(code)),
  );
}
