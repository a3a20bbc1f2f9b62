import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join, parse } from 'node:path';

import { ERRORS } from '../../../src/core/errors.ts';
import { GROUPS } from './cases/groups.ts';

const SRC = join(import.meta.dir, '../../../src');
const HTTP_TESTS = join(import.meta.dir, '..');
const [REFUSED, ...OTHERS] = ['errors/refused', 'errors/databaseErrors', 'front/wireRefusals'].map((path) => {
  const { dir, base } = parse(path);
  return readFileSync(join(HTTP_TESTS, dir, '__snapshots__', `${base}.test.ts.snap`), 'utf8');
}) as [string, ...string[]];
const SNAPSHOTS = [REFUSED, ...OTHERS];

/** Tests of one group of endpoints may hold the words of its errors themselves. */
const TESTS = readdirSync(HTTP_TESTS, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && !path.includes('errorTexts'))
  .map((path) => readFileSync(join(HTTP_TESTS, path), 'utf8'));

/** No test can bring these about; each with its reason. */
const OUT_OF_REACH = [
  'The plan ${} keeps changing; nothing was spent. Try again.', // Held by test/engine/cache/plans.test.ts, as is the next.
  'The stored plan ${} cannot be read: ${}.',
  'The limit ${} is given twice.', // The wire layer has refused it before, as an issue with its path.
  'Another program has locked the database; nothing was spent or changed.', // Comes after 5 s of waiting for a lock.
  'The listing could not be read (${}).', // Only when the thread that lists has failed.
  'At most ${} ${} can be named at once.', // The wire layer has refused as long a list before.
  'The namespace could not be created; nothing was counted. Try again.', // Only when others make and remove it at the same time.
  'Too many namespaces are being looked up in the database. Try again.', // A lookup here ends before the next one can come.
  'This node has no memory left for another request. Try again later.', // Connections have to hold 128 MiB; test/http/front/connection.test.ts.
  'The credits of ${} keep changing while they are read. Try again.', // Held by test/engine/admin/statements.test.ts.
  'The credits of the reservation ${} keep changing; it is still held. Try again.', // test/postgres/conformance/ledger/reservations.test.ts
  'The credits of ${} keep changing, so what is due to them could not be applied. Try again.', // The same file.
  'The client has left before it was the turn of its request.', // Nobody reads it. Held by test/engine/fairTurns.test.ts.
  'The database has failed.', // Only for what waited in the queue while a commit failed.
];

/** Every text that stands in an error's place in the source, with `${}` for what is put in. */
function textsOfSource(ofPostgres: boolean): string[] {
  const all = [...new Bun.Glob('{core,engine,http,storage}/**/*.ts').scanSync(SRC)].sort();
  const files = all.filter((file) => file.startsWith('storage/postgres/') === ofPostgres);
  const places = [
    /new (?:AppError|StorageUnavailable|StorageOutcomeUnknown)\(\s*(?:'[A-Z_]+',\s*)?(?:\w+ \? )?(['"`])((?:\\.|(?!\1)[\s\S])*)\1/g,
    /message(?:: | = )(['"`])((?:\\.|(?!\1)[\s\S])*)\1/g,
    /\badd\((?:'\w+', )?(['"`])((?:\\.|(?!\1)[\s\S])*)\1/g,
  ];
  return files.flatMap((file) => {
    const source = readFileSync(join(SRC, file), 'utf8');
    // Problems of fields are added to a list in the wire layer alone.
    const ofFile = file.startsWith('http/') ? places : places.slice(0, 2);
    return ofFile.flatMap((place) => [...source.matchAll(place)].map(([, , text = '']) => plain(text)));
  });
}

/** What is put in may hold braces and quotes of its own: it ends with the brace that closes it. */
function plain(text: string): string {
  let shown = '';
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text.startsWith('${', i)) {
      if (depth++ === 0) shown += '${}';
      i++;
    } else if (depth > 0) depth += text[i] === '{' ? 1 : text[i] === '}' ? -1 : 0;
    else shown += text[i];
  }
  return shown;
}

test('the words of every error in the source are held by a snapshot or stand in a test', () => {
  const held = [...SNAPSHOTS, ...TESTS].join('\n').replaceAll('\\`', '`');
  const texts = textsOfSource(false);
  expect(texts.length).toBeGreaterThan(40);
  const missing = texts.filter((text) => {
    const pieces = text.replaceAll(/\\([`'"])/g, '$1').split('${}');
    return !OUT_OF_REACH.includes(text) && !pieces.every((piece) => held.includes(piece));
  });
  expect(missing).toEqual([]);
});

test('every code of the table of errors has an example in a snapshot', () => {
  const held = SNAPSHOTS.join('\n');
  const isShown = (code: string): boolean =>
    held.includes(`"code": "${code}"`) || RegExp(`^"\\d{3} ${code}$`, 'm').test(held);
  expect(Object.keys(ERRORS).filter((code) => !isShown(code))).toEqual([]);
});

test('the snapshot of refused requests holds all cases and no others, each under a title of its own', () => {
  const held = REFUSED.split('\n').filter((line) => line.startsWith('exports['));
  const titles = GROUPS.flatMap(([group, cases]) => cases.map(([title]) => `refused: ${group} ${title} 1`));
  const escaped = titles.map((title) => title.replaceAll(/[`\\]|\$\{/g, '\\$&'));
  expect(held.toSorted()).toEqual(escaped.map((title) => `exports[\`${title}\`] = \``).toSorted());
});

/** They are brought about by test/cluster, where what is put in differs from run to run. */
test('the words of every error of PostgreSQL are held by a snapshot', () => {
  expect(textsOfSource(true).toSorted()).toMatchSnapshot();
});
