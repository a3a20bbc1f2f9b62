import { existsSync, readFileSync } from 'node:fs';

/**
 * @typedef {{ file: string, title: string, matchedName: string, outcome: 'passed' | 'failed' | 'skipped', failure: string }} TestCase
 *   title: the names of the surrounding describe blocks and of the test as Bun prints them
 *   matchedName: the same names as Bun's --test-name-pattern sees them
 */

const TAG = /<(\/?)(testsuite|testcase|failure|error|skipped)\b([^>]*?)(\/?)>/g;

/**
 * The tests in Bun's junit report; undefined when Bun ended before writing one. Describe blocks are
 * taken from the nesting, because Bun's classname attribute lists them innermost first.
 *
 * @param {string} path
 * @returns {TestCase[] | undefined}
 */
export function readJunit(path) {
  if (!existsSync(path)) return undefined;
  /** @type {TestCase[]} */
  const tests = [];
  /** @type {string[]} */
  const suites = [];
  for (const [, closing, tag, attributes, selfClosing] of readFileSync(path, 'utf8').matchAll(TAG)) {
    const current = tests.at(-1);
    if (tag === 'testsuite') {
      if (closing) suites.pop();
      else if (!selfClosing) suites.push(attribute(attributes, 'name'));
    } else if (tag === 'testcase') {
      if (!closing) tests.push(passedTest(attributes, suites.slice(1)));
    } else if (!closing && current) {
      current.outcome = tag === 'skipped' ? 'skipped' : 'failed';
      current.failure = attribute(attributes, 'message');
    }
  }
  return tests;
}

/**
 * @param {string} attributes
 * @param {string[]} describes
 * @returns {TestCase}
 */
function passedTest(attributes, describes) {
  const names = [...describes, attribute(attributes, 'name')];
  const file = attribute(attributes, 'file');
  return { file, title: names.join(' > '), matchedName: names.join(' '), outcome: 'passed', failure: '' };
}

/**
 * @param {string} attributes
 * @param {string} name
 */
function attribute(attributes, name) {
  return decodeEntities(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '');
}

const NAMED_ENTITIES = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/** @param {string} text */
function decodeEntities(text) {
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(lt|gt|quot|apos|amp));/gi, (_, decimal, hex, named) => {
    if (named) return NAMED_ENTITIES[named];
    return String.fromCodePoint(decimal ? Number(decimal) : parseInt(hex, 16));
  });
}
