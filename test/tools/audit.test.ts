import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';

import { askNpm } from '../../tools/audit/askNpm.ts';
import { type Lockfile, type Manifest, unlocked, unpinned, withoutChecksum } from '../../tools/audit/pinned.ts';
import { auditReport } from '../../tools/audit/report.ts';
import { TempFolder } from '../process/process.ts';

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const LOCKFILE = read('package-lock.json') as Lockfile;
const MANIFESTS = ['package.json', 'sdk/package.json'];
const EXAMPLES = ['express', 'fastify', 'hono', 'nextjs'].map((name) => `examples/${name}/package.json`);

describe('the packages of this project', () => {
  test.each([...MANIFESTS, ...EXAMPLES])('%s names exact versions', (path) => {
    expect(unpinned(path, read(path) as Manifest)).toEqual([]);
  });

  test('the lockfile has the same versions, and a checksum of every package', () => {
    expect(unlocked('', read('package.json') as Manifest, LOCKFILE)).toEqual([]);
    expect(unlocked('sdk', read('sdk/package.json') as Manifest, LOCKFILE)).toEqual([]);
    expect(withoutChecksum(LOCKFILE)).toEqual([]);
    expect(Object.keys(LOCKFILE.packages).length).toBeGreaterThan(100);
  });

  test('npm saves new ones with exact versions', () => {
    expect(readFileSync('.npmrc', 'utf8').split('\n')).toContain('save-exact=true');
  });
});

describe('npm run audit', () => {
  test.each(['^1.2.3', '~1.2.3', '1.2', '1', '*', 'latest', '>=1.2.3', '1.2.x', 'npm:express@4', 'github:a/b', ''])(
    'refuses the version %j',
    (version) => {
      const problem = `package.json: a must have an exact version, got "${version}".`;
      expect(unpinned('package.json', { devDependencies: { a: version } })).toEqual([problem]);
    },
  );

  test.each(['1.2.3', '18.4.0-beta.17', 'npm:express@4.22.3', 'npm:@types/node@1.0.0'])(
    'takes the version %j',
    (version) => expect(unpinned('package.json', { dependencies: { a: version } })).toEqual([]),
  );

  test('finds a lockfile that is behind, and a package without a checksum', () => {
    const packages = {
      '': { dependencies: { a: '1.0.0' } },
      'node_modules/a': { version: '1.0.0' },
      'node_modules/b': { version: '1.0.0', integrity: 'sha1-abc' },
      'node_modules/c': { version: '1.0.0', integrity: 'sha512-abc' },
      'node_modules/own': { link: true },
    };
    expect(unlocked('', { dependencies: { a: '1.0.1' } }, { packages })).toEqual([
      'package-lock.json does not have a 1.0.1 of the project. Run npm install.',
    ]);
    expect(withoutChecksum({ packages })).toEqual(
      ['a', 'b'].map(
        (name) =>
          `package-lock.json has no sha512 checksum of node_modules/${name}. Remove the entry and run npm install.`,
      ),
    );
  });

  test('says plainly that the registry did not answer, and does not pass', () => {
    const refused = JSON.stringify({ message: '405 Method Not Allowed', statusCode: 405 });
    for (const [answer, reason] of [
      [refused, '405 Method Not Allowed'],
      ['', 'npm printed no report'],
      ['{}', 'npm printed no report'],
    ] as const) {
      const { lines, code } = auditReport(answer, answer);
      expect([code, lines[0]]).toEqual([
        2,
        `The registry did not answer (${reason}), so no package was compared with known vulnerabilities.`,
      ]);
    }
    const none = JSON.stringify({ vulnerabilities: {} });
    expect(auditReport(none, refused).code).toBe(2);
    expect(auditReport(none, none)).toEqual({ lines: ['No known vulnerability in any package.'], code: 0 });
  });

  test('without npm, and with a registry that hangs, it ends and says why', async () => {
    const absent = await askNpm('.', [], { npm: '/nowhere/npm' });
    expect(auditReport(absent, absent)).toMatchObject({
      code: 2,
      lines: [expect.stringContaining('(npm is not installed, or not in PATH)'), expect.any(String)],
    });
    using folder = new TempFolder();
    const npm = folder.join('npm');
    writeFileSync(npm, '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
    const hanging = await askNpm(folder.path, [], { npm, withinMs: 50 });
    expect(auditReport(hanging, hanging).lines[0]).toContain('(npm has no answer after 0.05 seconds)');
  });

  test('names each vulnerable package, why, and whether the service runs with it', () => {
    const a = { severity: 'high', range: '<2.0.0', fixAvailable: true, via: [{ title: 'It leaks', url: 'https://x' }] };
    const b = { severity: 'low', range: '*', fixAvailable: false, via: ['a'] };
    const all = JSON.stringify({ vulnerabilities: { a, b } });
    const service = JSON.stringify({ vulnerabilities: { a } });
    expect(auditReport(all, service)).toEqual({
      lines: [
        'high: a <2.0.0 (the service; a fix is available): It leaks https://x',
        'low: b * (development only; no fix yet): through a',
        '2 packages have known vulnerabilities.',
      ],
      code: 1,
    });
  });
});
