import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

import { CLIENT_PACKAGES, sdkFiles, wheelFiles } from '../../../src/http/clientPackages.ts';
import { VERSION } from '../../../src/version.ts';
import { reuseService } from '../../support/reusedService.ts';

const decode = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

describe('the package of the SDK', () => {
  test('has a module and its types for everything that it exports, and nothing of a checkout', async () => {
    const files = await sdkFiles();
    const manifest = JSON.parse(decode(files.get('package.json'))) as {
      version: string;
      exports: Record<string, string | Record<string, string>>;
    };
    expect(manifest.version).toBe(VERSION);
    expect(Object.keys(manifest)).not.toContain('devDependencies');
    expect(Object.keys(manifest)).not.toContain('scripts');
    const exported = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry),
    );
    expect(exported.length).toBeGreaterThan(10);
    expect(exported.filter((path) => !files.has(path.replace('./', '')))).toEqual([]);
  });

  test('every import leads to a file of the package, or to a framework', async () => {
    const files = await sdkFiles();
    const broken: string[] = [];
    const outside = new Set<string>();
    for (const [path, bytes] of files) {
      if (!/\.(?:js|d\.ts)$/.test(path)) continue;
      for (const specifier of importsOf(path, decode(bytes))) {
        if (!specifier.startsWith('.')) outside.add(specifier);
        else if (!files.has(resolved(path, specifier))) broken.push(`${path}: ${specifier}`);
      }
    }
    expect(broken).toEqual([]);
    expect([...outside].toSorted()).toEqual(['fastify', 'hono']);
  });

  function importsOf(path: string, text: string): string[] {
    if (path.endsWith('.js')) return new Bun.Transpiler({ loader: 'js' }).scanImports(text).map((each) => each.path);
    return [...text.matchAll(/(?:from |import\()['"]([^'"]+)['"]/g)].map(([, specifier = '']) => specifier);
  }

  /** A declaration may stand for a module of types, which nothing runs. */
  function resolved(from: string, specifier: string): string {
    const path = normalize(join(dirname(from), specifier));
    return from.endsWith('.d.ts') ? path.replace(/\.js$/, '.d.ts') : path;
  }
});

describe('the wheel of the Python client', () => {
  test('has every source, and says what the project says', async () => {
    const files = await wheelFiles();
    const info = `keystile-${VERSION}.dist-info`;
    const sources = readdirSync('clients/python/src/keystile').filter((name) => /\.(?:py|typed)$/.test(name));
    expect(sources.length).toBeGreaterThan(15);
    expect(sources.filter((name) => !files.has(`keystile/${name}`))).toEqual([]);
    const metadata = decode(files.get(`${info}/METADATA`));
    for (const line of [
      'Name: keystile',
      `Version: ${VERSION}`,
      'Requires-Python: >=3.10',
      'Requires-Dist: httpx>=0.27,<1',
      'Provides-Extra: fastapi',
      "Requires-Dist: fastapi>=0.110.1; extra == 'fastapi'",
      'License-File: LICENSE',
    ])
      expect(metadata.split('\n')).toContain(line);
    expect(metadata).toContain('\n\n# Keystile for Python\n');
    expect(files.has(`${info}/licenses/LICENSE`)).toBe(true);
  });

  test('its record has the digest of every file', async () => {
    const files = await wheelFiles();
    const name = `keystile-${VERSION}.dist-info/RECORD`;
    const lines = decode(files.get(name)).trimEnd().split('\n');
    expect(lines.at(-1)).toBe(`${name},,`);
    expect(lines.length).toBe(files.size);
    for (const line of lines.slice(0, -1)) {
      const [path = '', digest, size] = line.split(',');
      const bytes = files.get(path) as Uint8Array;
      const own = new Bun.CryptoHasher('sha256').update(bytes).digest('base64url');
      expect([path, digest, size]).toEqual([path, `sha256=${own}`, String(bytes.length)]);
    }
  });
});

describe('GET /sdk/', () => {
  const service = reuseService();
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    service().call(path, undefined, { method, headers, rootKey: null });

  test.each(Object.entries(CLIENT_PACKAGES))(
    '%s needs no root key, is small, and stays the same',
    async (name, { type }) => {
      const { status, headers } = await get(`/sdk/${name}`);
      expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([200, type, 'no-cache']);
      expect(Number(headers.get('content-length'))).toBeWithin(10_000, 100_000);
      const etag = headers.get('etag') ?? '';
      expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
      const head = await get(`/sdk/${name}`, {}, 'HEAD');
      expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', etag]);
      expect((await get(`/sdk/${name}`, { 'if-none-match': etag })).status).toBe(304);
      const again = await CLIENT_PACKAGES[name]?.make();
      const digest = new Bun.CryptoHasher('sha256')
        .update(again as Uint8Array)
        .digest('hex')
        .slice(0, 32);
      expect(etag).toBe(`"${digest}"`);
    },
  );

  test('what is no package of this version is a 404 that names those that are', async () => {
    const names = Object.keys(CLIENT_PACKAGES).map((name) => `/sdk/${name}`);
    for (const path of ['/sdk/keystile-sdk-0.0.1.tgz', '/sdk/', '/sdk/../package.json', '/sdk/%2e%2e/package.json']) {
      const { status, body } = await get(path);
      expect([path, status]).toEqual([path, 404]);
      if (path.startsWith('/sdk/k'))
        expect(body.error.message).toBe(`There is no such package. This service has ${names.join(', ')}.`);
    }
    expect((await get(names[0] ?? '', {}, 'POST')).status).toBe(405);
  });
});
