import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';

import type { Lockfile, Manifest } from '../../../tools/audit/pinned.ts';
import { released, unreleasedNotes } from '../../../tools/release/changelog.ts';
import {
  type Expected,
  runtimeOnly,
  runtimePackages,
  type Sbom,
  sbomProblems,
  withoutOrigins,
} from '../../../tools/release/sbom.ts';
import { sumProblems } from '../../../tools/release/sums.ts';

const CHANGELOG = '# Changes\n\n## Unreleased\n\n### Keys\n\n- New: `a`.\n\n## 0.1.0 - 2026-01-01\n\n- First.\n';

describe('the changelog', () => {
  test('its unreleased part becomes the notes, and the section of the version', () => {
    expect(unreleasedNotes(CHANGELOG)).toBe('### Keys\n\n- New: `a`.');
    expect(released(CHANGELOG, '0.2.0', '2026-02-02')).toBe(
      '# Changes\n\n## Unreleased\n\n## 0.2.0 - 2026-02-02\n\n### Keys\n\n- New: `a`.\n\n## 0.1.0 - 2026-01-01\n\n- First.\n',
    );
    expect(unreleasedNotes('## Unreleased\n- Last.')).toBe('- Last.');
  });

  test('a heading with a space, a tab or the line end of another system behind it is the same heading', () => {
    for (const end of [' ', '\t', ' \t']) {
      expect(released(CHANGELOG.replace('Unreleased', `Unreleased${end}`), '0.2.0', '2026-02-02')).toBe(
        released(CHANGELOG, '0.2.0', '2026-02-02'),
      );
    }
    const windows = CHANGELOG.replaceAll('\n', '\r\n');
    expect(unreleasedNotes(windows)).toBe('### Keys\n\n- New: `a`.');
    expect(released(windows, '0.2.0', '2026-02-02')).toBe(
      released(CHANGELOG, '0.2.0', '2026-02-02').replaceAll('\n', '\r\n'),
    );
  });

  test('the changelog of this project has a section for what comes next', () => {
    expect(readFileSync('CHANGELOG.md', 'utf8')).toContain('\n## Unreleased\n');
  });

  test.each([
    [
      '# Changes\n\n## 0.1.0 - 2026-01-01\n',
      'CHANGELOG.md has no section "## Unreleased". Add it above the newest version.',
    ],
    [
      '## Unreleased\n\n### Keys\n\n## 0.1.0 - 2026-01-01\n\n- First.\n',
      'The section "## Unreleased" of CHANGELOG.md is empty. Write down what the release changes.',
    ],
  ])('without a text for the release it is refused', (text, sentence) => {
    expect(() => unreleasedNotes(text)).toThrow(sentence);
  });

  test('a version that has a section already is refused', () => {
    expect(() => released(CHANGELOG, '0.1.0', '2026-02-02')).toThrow(
      'CHANGELOG.md has a section of version 0.1.0 already. Choose a newer version.',
    );
  });
});

describe('checksums', () => {
  const sum = (digit: string, path: string): string => `${digit.repeat(64)}  ${path}\n`;

  test('a changed, a missing and an added file are told', () => {
    const listed = sum('a', 'a.tgz') + sum('b', 'deploy/b.yaml') + sum('c', 'c');
    expect(sumProblems(listed, listed)).toEqual([]);
    expect(sumProblems(listed, sum('f', 'a.tgz') + sum('c', 'c') + sum('d', 'd'))).toEqual([
      'a.tgz is not the file that SHA256SUMS names.',
      'deploy/b.yaml is in SHA256SUMS and not in the folder.',
      'd is not in SHA256SUMS.',
    ]);
  });
});

const HASHES = [{ alg: 'SHA-512', content: '0f'.repeat(64) }];
const component = (name: string, version: string) => ({ name, version, licenses: [{}], hashes: HASHES });
const SBOM: Sbom = {
  bomFormat: 'CycloneDX',
  metadata: { component: component('keystile', '1.0.0') },
  components: [component('pg', '8.0.0'), component('pg-types', '2.0.0')],
};
const EXPECTED: Expected = {
  name: 'keystile',
  version: '1.0.0',
  dependencies: { pg: '8.0.0' },
  installed: ['pg', 'pg-types'],
  private: ['/home/builder'],
};

describe('the SBOM', () => {
  test('is made from the packages that the program runs with, also those that development needs too', () => {
    const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
    const manifest = read('package.json') as Manifest;
    const { lockfile } = runtimeOnly(manifest, read('package-lock.json') as Lockfile);
    const paths = Object.keys(lockfile.packages);
    expect(paths).toContain('node_modules/pg-types');
    // The runtime of every platform, not only of this one.
    for (const platform of ['linux-x64', 'darwin-aarch64', 'windows-x64']) {
      expect(paths).toContain(`node_modules/@oven/bun-${platform}`);
    }
    expect(manifest.optionalDependencies).toHaveProperty(['@opentelemetry/api']);
    for (const name of Object.keys(runtimePackages(manifest))) expect(paths).toContain(`node_modules/${name}`);
    for (const name of Object.keys(manifest.devDependencies ?? {})) expect(paths).not.toContain(`node_modules/${name}`);
  });

  test('a package inside of another one is found before one of the same name', () => {
    const packages = {
      '': {},
      'node_modules/a': { dependencies: { b: '^1' } },
      'node_modules/a/node_modules/b': { version: '1.0.0' },
      'node_modules/b': { version: '2.0.0' },
    };
    const { lockfile } = runtimeOnly({ dependencies: { a: '1.0.0' } }, { packages });
    expect(Object.keys(lockfile.packages)).toEqual(['', 'node_modules/a', 'node_modules/a/node_modules/b']);
  });

  test('a whole one has no problem', () => {
    expect(sbomProblems(SBOM, EXPECTED)).toEqual([]);
  });

  test.each<[string, Sbom]>([
    [
      'The SBOM is of keystile 0.9.0, not of keystile 1.0.0.',
      { ...SBOM, metadata: { component: component('keystile', '0.9.0') } },
    ],
    [
      'The SBOM lacks pg 8.0.0, which package.json names.',
      { ...SBOM, components: [component('pg', '8.0.1'), component('pg-types', '2.0.0')] },
    ],
    ['The SBOM lacks pg-types, which an installation has.', { ...SBOM, components: [component('pg', '8.0.0')] }],
    ['The SBOM has no version of x.', { ...SBOM, components: [...SBOM.components, component('x', 'latest')] }],
    [
      'The SBOM has no licence of x.',
      { ...SBOM, components: [...SBOM.components, { ...component('x', '1.0.0'), licenses: [] }] },
    ],
    [
      'The SBOM has no checksum of x.',
      { ...SBOM, components: [...SBOM.components, { ...component('x', '1.0.0'), hashes: [] }] },
    ],
    [
      'The SBOM names a folder of this machine or a registry.',
      { ...SBOM, components: [...SBOM.components, component('/home/builder/x', '1.0.0')] },
    ],
  ])('%s', (problem, sbom) => {
    expect(sbomProblems(sbom, EXPECTED)).toEqual([problem]);
  });

  test('tells no place that a package was downloaded from', () => {
    const externalReferences = [
      { type: 'distribution', url: 'https://registry.example.com/pg.tgz' },
      { type: 'website', url: 'https://example.com' },
    ];
    const sbom = { ...SBOM, components: [...SBOM.components, { ...component('x', '1.0.0'), externalReferences }] };
    expect(sbomProblems(sbom, EXPECTED)).toEqual(['The SBOM names a folder of this machine or a registry.']);
    const clean = withoutOrigins(sbom);
    expect(sbomProblems(clean, EXPECTED)).toEqual([]);
    expect(clean.components[2]?.externalReferences).toEqual([{ type: 'website', url: 'https://example.com' }]);
  });
});
