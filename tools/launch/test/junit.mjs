import { existsSync, readFileSync } from 'node:fs';

const TAG = /<(\/?)(testsuite|testcase|failure|error|skipped)\b([^>]*?)(\/?)>/g;
const ENTITIES = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

/**
 * The tests in Bun's junit report and the seconds of each file. Describe blocks are taken from the nesting, because
 * Bun's classname attribute lists them innermost first.
 */
export function readJunit(path) {
  const tests = [];
  const seconds = new Map();
  const suites = [];
  const report = existsSync(path) ? readFileSync(path, 'utf8') : '';
  for (const [, closing, tag, attributes, selfClosing] of report.matchAll(TAG)) {
    const [file, name] = [attribute(attributes, 'file'), attribute(attributes, 'name')];
    if (tag === 'testsuite' && closing) suites.pop();
    else if (tag === 'testsuite' && !selfClosing && suites.push(name) === 1)
      seconds.set(file, Number(attribute(attributes, 'time')));
    else if (tag === 'testcase' && !closing)
      tests.push({ file, title: [...suites.slice(1), name].join(' > '), outcome: 'passed' });
    else if (tag !== 'testsuite' && !closing) tests.at(-1).outcome = tag === 'skipped' ? 'skipped' : 'failed';
  }
  return { tests, seconds };
}

function attribute(attributes, name) {
  const text = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
  return text.replace(/&(?:#(\d+)|(lt|gt|quot|apos|amp));/g, (_, code, entity) =>
    entity ? ENTITIES[entity] : String.fromCodePoint(Number(code)),
  );
}
