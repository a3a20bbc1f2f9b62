import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

// JavaScript: it runs in Node before anything is installed, and has no declarations.
const steps = '../../tools/clients/steps.mjs';
const { STEPS } = (await import(steps)) as { STEPS: { title: string }[] };

const EXAMPLES = readdirSync('examples');

/** What a real project has beside its program. */
const BESIDE = new Set(['README.md', 'package.json', 'requirements.txt', 'go.mod']);
/** What installing an example in a checkout leaves there. */
const INSTALLED = /(^|\/)(node_modules|\.next|\.venv|__pycache__|package-lock\.json|next-env\.d\.ts)(\/|$)/;

function programOf(name: string): string[] {
  return readdirSync(join('examples', name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !BESIDE.has(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !INSTALLED.test(path));
}

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

describe('the examples', () => {
  test('there is one for each framework, client and gateway that a newcomer asks for', () => {
    expect(EXAMPLES.toSorted()).toEqual(['curl', 'express', 'fastapi', 'fastify', 'go', 'hono', 'nextjs', 'nginx']);
  });

  test.each(EXAMPLES)('%s has a program of fewer than 40 lines and a README that says how to run it', (name) => {
    const lines = programOf(name).map((path) => readFileSync(path, 'utf8').trimEnd().split('\n').length);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.reduce((sum, each) => sum + each, 0)).toBeLessThan(40);
    const readme = readFileSync(join('examples', name, 'README.md'), 'utf8');
    for (const path of programOf(name)) expect(readme).toContain(`\`${relative(join('examples', name), path)}\``);
    expect(readme).toMatch(/^```sh$/m);
  });

  test.each(EXAMPLES)('%s is run by `npm run test:clients`', (name) => {
    expect(STEPS.map(({ title }) => title)).toContain(`Example: ${name}`);
    expect(existsSync(`tools/examples/${name}.test.mjs`)).toBe(true);
  });

  test('they have the versions of the frameworks that the SDK is tested with', () => {
    const { devDependencies: tested, version } = manifest('sdk');
    for (const name of EXAMPLES.filter((each) => existsSync(join('examples', each, 'package.json')))) {
      const { '@keystile/sdk': sdk, ...frameworks } = manifest(join('examples', name)).dependencies;
      expect(sdk).toBe(`http://127.0.0.1:7878/sdk/keystile-sdk-${version}.tgz`);
      const known = Object.entries(frameworks).filter(([each]) => each in tested);
      expect(known.length).toBeGreaterThan(0);
      expect(known).toEqual(known.map(([each]) => [each, tested[each] ?? '']));
    }
  });

  test('docs/protect-a-route.md leads to every example', () => {
    const page = readFileSync('docs/protect-a-route.md', 'utf8');
    for (const name of EXAMPLES) expect(page).toContain(`](../examples/${name}/README.md)`);
  });
});
