import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import { VERSION } from '../../../src/version.ts';
import { filesWithVersion, type Place, PLACES, withVersion } from '../../../tools/release/places.ts';
import { compareVersions, requireNewVersion } from '../../../tools/release/version.ts';

const known = {
  present: '0.2.0',
  tags: ['v0.1.0', 'v0.2.0-rc.1', 'v0.1.10', 'clients/go/v9.0.0', 'vnext', 'v0.1.11'],
  unmerged: ['v0.1.11'],
};

function refusal(work: () => unknown): string {
  try {
    return `accepted: ${String(work())}`;
  } catch (error) {
    return String(error);
  }
}

describe('the version of a release', () => {
  test('versions have the order of semver', () => {
    const ordered = [
      '0.1.0',
      '0.1.9',
      '0.1.10',
      '1.0.0-1',
      '1.0.0-2',
      '1.0.0-10',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-rc.1',
      '1.0.0',
      '2.0.0',
    ];
    expect(ordered.toReversed().toSorted(compareVersions)).toEqual(ordered);
    expect(ordered.map((version) => compareVersions(version, version))).toEqual(ordered.map(() => 0));
  });

  test.each(['0.2.0', '0.2.1', '0.3.0-rc.1', '1.0.0'])('%s may follow', (version) => {
    expect(requireNewVersion(version, known)).toBe(version);
  });

  test.each([
    [undefined, 'Give the version of the release: npm run release -- 1.2.3'],
    ['', 'The version must be three numbers such as 1.2.3, or 1.2.3-rc.1, got "".'],
    ['1.0', 'The version must be three numbers such as 1.2.3, or 1.2.3-rc.1, got "1.0".'],
    ['v1.0.0', 'The version must be three numbers such as 1.2.3, or 1.2.3-rc.1, got "v1.0.0".'],
    ['01.0.0', 'The version must be three numbers such as 1.2.3, or 1.2.3-rc.1, got "01.0.0".'],
    ['1.0.0+build', 'The version must be three numbers such as 1.2.3, or 1.2.3-rc.1, got "1.0.0+build".'],
    ['1.0.0; rm', 'The version must be three numbers such as 1.2.3, or 1.2.3-rc.1, got "1.0.0; rm".'],
    ['0.1.0', 'The tag v0.1.0 exists: version 0.1.0 is released. Choose a newer version.'],
    [
      '0.1.11',
      'The tag v0.1.11 exists, and the branch does not have its commit: a release that was killed leaves this. Run git tag -d v0.1.11, then try again.',
    ],
    ['0.2.0-alpha', 'The version must be newer than 0.2.0-rc.1, the newest release, got "0.2.0-alpha".'],
    ['0.2.0-rc.2', 'The version must not be older than 0.2.0, the version in package.json, got "0.2.0-rc.2".'],
  ])('%p is refused with one sentence', (given, sentence) => {
    expect(refusal(() => requireNewVersion(given, known))).toBe(`Refused: ${sentence}`);
  });
});

/** Files that name the version as the beginning of something: they keep naming it. */
const TELLS_HISTORY =
  /before 0\.1\.0|by 0\.1\.0 or a later|before version 0\.1\.0|Keystile 0\.1\.0, all on one machine/;
/** Examples of what a version looks like. */
const EXAMPLES = ['src/http/routes/service.getStatus.ts', 'src/storage/sqlite/backup/backupFile.ts'];
const KEEPS = (path: string): boolean => path.startsWith('test/') || path === 'CHANGELOG.md' || EXAMPLES.includes(path);

describe('where the version stands', () => {
  const read = async (path: string): Promise<string> => readFileSync(path, 'utf8');

  test('a release puts the next version into every place', async () => {
    const files = await filesWithVersion(read, VERSION, '77.0.0');
    expect([...files.keys()]).toEqual([...new Set(PLACES.map(({ path }) => path))]);
    const there = [...files.values()].join('\n');
    expect(there.split('77.0.0').length - 1).toBe(PLACES.reduce((sum, { times }) => sum + times, 0));
    const lock = JSON.parse(files.get('package-lock.json') ?? '') as {
      version: string;
      packages: Record<string, { version: string }>;
    };
    expect([lock.version, lock.packages['']?.version, lock.packages['sdk']?.version]).toEqual(
      Array.from({ length: 3 }, () => '77.0.0'),
    );
  });

  test('no file names the version in a place that a release does not know', async () => {
    const { stdout } = Bun.spawnSync(['git', 'grep', '-I', '-l', '-F', VERSION]);
    const files = await filesWithVersion(read, VERSION, 'NEXT');
    const word = new RegExp(`(?<![\\d.])${VERSION.replaceAll('.', '\\.')}(?![\\d.]*\\d)`);
    const forgotten = stdout
      .toString()
      .trim()
      .split('\n')
      .filter((path) => !KEEPS(path) && path !== 'package-lock.json')
      .flatMap((path) =>
        (files.get(path) ?? readFileSync(path, 'utf8'))
          .split('\n')
          .filter((line) => word.test(line) && !TELLS_HISTORY.test(line))
          .map((line) => `${path}: ${line.trim()}`),
      );
    expect(forgotten).toEqual([]);
  });

  test('a place that has moved is refused by name, and nothing is written', () => {
    const place: Place = { path: 'deploy/x.yaml', text: 'image: keystile:#\n', times: 1 };
    expect(withVersion(place, 'image: keystile:1.0.0\n', '1.0.0', '1.1.0')).toBe('image: keystile:1.1.0\n');
    for (const content of ['image: keystile:2.0.0\n', 'image: keystile:1.0.0\nimage: keystile:1.0.0\n']) {
      expect(refusal(() => withVersion(place, content, '1.0.0', '1.1.0'))).toStartWith(
        'Refused: deploy/x.yaml must name version 1.0.0 once as "image: keystile:1.0.0\\n", and does so ',
      );
    }
  });
});
