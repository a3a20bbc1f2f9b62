import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';

import { ERRORS } from '../../../src/core/errors.ts';
import { VIEWER_PATH, guideHtml, GUIDES, IMAGES } from '../../../src/http/docs/site.ts';
import origin from '../../../src/http/docs/viewer/scalar.json';
import { TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(async () => {
  await service.close();
});

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  service.call(path, undefined, { method, rootKey: null, headers });

const GUIDE_PATHS = GUIDES.map((guide) => `/docs/guides/${guide}`);
const TEXT_PAGES = ['/', '/docs/errors', '/docs/guides', ...GUIDE_PATHS];
const OTHERS = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];

describe('every page', () => {
  test.each(TEXT_PAGES)('%s runs no script and loads only from this service', async (path) => {
    const { status, headers, text } = await get(path);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      "style-src 'self'",
      "img-src 'self'",
      ...OTHERS,
    ]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(text).toStartWith('<!doctype html>');
    expect(text).not.toMatch(/<script|<style| style=| on\w+=|javascript:|<!--/i);
    expect([...text.matchAll(/ src="([^"]*)"/g)].map(([, src]) => src)).toEqual(
      [...text.matchAll(/ src="(\/docs\/guides\/(?:\w+\.svg|pictures\/[\w-]+\.png))"/g)].map(([, src]) => src),
    );
  });

  test('/docs runs the scripts of this service alone, and may call no other host', async () => {
    const { headers, text } = await get('/docs');
    expect(headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "font-src 'self'",
      ...OTHERS,
    ]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect([...text.matchAll(/<script([^>]*)>/g)].map(([, attributes]) => attributes)).toEqual([
      ' src="/docs/assets/reference.js"',
      ` src="${VIEWER_PATH}"`,
    ]);
  });

  test('all links lead somewhere, also to their anchors', async () => {
    const pages = new Map<string, string>();
    const textOf = async (path: string): Promise<string> => {
      const known = pages.get(path);
      if (known !== undefined) return known;
      const { status, text } = await get(path);
      expect([path, status]).toEqual([path, 200]);
      pages.set(path, text);
      return text;
    };
    const ids = Object.values(
      (JSON.parse(await textOf('/openapi.json')) as { paths: Record<string, object> }).paths,
    ).flatMap((methods) => Object.values(methods).map(({ operationId }: { operationId: string }) => operationId));
    let [links, toOperations] = [0, 0];
    for (const page of TEXT_PAGES) {
      for (const [, href = ''] of (await textOf(page)).matchAll(/ (?:href|src)="([^"]*)"/g)) {
        if (/^https?:\/\//.test(href)) continue;
        const [path = '', anchor] = href.split('#');
        const target = await textOf(path === '' ? page : path);
        links++;
        if (path === '/docs' && anchor !== undefined) {
          toOperations++;
          expect([page, ids]).toEqual([page, expect.arrayContaining([anchor])]);
        } else if (anchor !== undefined) {
          expect([page, href, target.includes(`id="${anchor}"`)]).toEqual([page, href, true]);
        }
      }
    }
    expect(links).toBeGreaterThan(300);
    expect(toOperations).toBeGreaterThan(50);
  });

  test('/ leads to the others', async () => {
    const { text } = await get('/');
    const links = [...(text.split('<main>')[1] ?? '').matchAll(/href="([^"#]+)"/g)].map(([, link = '']) => link);
    expect(links).toEqual(['/dashboard', '/docs', '/docs/guides', '/docs/errors', '/openapi.json', '/v1/liveness']);
  });

  test('/docs/errors has a section for every code, where the docs link of an error leads', async () => {
    const { text } = await get('/docs/errors');
    for (const [code, { status }] of Object.entries(ERRORS)) {
      expect(text).toContain(`<h2 id="${code}">${code} <small>${status}</small></h2>`);
    }
    const { docs } = (await service.call('/v1/nowhere', {})).body.error as { docs: string };
    const [path = '', anchor = ''] = docs.split('#');
    expect((await get(path)).text).toContain(`id="${anchor}"`);
  });
});

describe('guides', () => {
  test('are all pages of docs/, each in the list', async () => {
    const files = readdirSync('docs', { recursive: true, encoding: 'utf8' });
    const pages = files.filter((name) => name.endsWith('.md') && name !== 'README.md').map((name) => name.slice(0, -3));
    expect(GUIDES.toSorted()).toEqual(pages.sort());
    expect(IMAGES.toSorted()).toEqual(files.filter((name) => /\.(?:svg|png)$/.test(name)).sort());
    const { text } = await get('/docs/guides');
    const listed = [...text.matchAll(/<li><a href="([^"]+)">([^<]+)<\/a><\/li>/g)];
    expect(listed.map(([, path]) => path)).toEqual(GUIDE_PATHS);
    for (const [, path, title = ''] of listed) expect((await get(path ?? '')).text).toContain(title);
  });

  test('show HTML of their source as text', () => {
    const html = guideHtml('Hi <b onclick=x>you</b>\n\n<script>alert(1)</script>\n', 'keys', new Set());
    expect(html).toContain('&lt;b onclick=x&gt;you&lt;/b&gt;');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  test('link each other, and the operations that they name', () => {
    const operations = new Set(['keys.createKey']);
    const html = (source: string, guide = 'keys') => guideHtml(source, guide, operations).trim();
    expect(html('`keys.createKey`')).toBe('<p><a href="/docs#keys.createKey"><code>keys.createKey</code></a></p>');
    const path = '<a href="/docs#keys.createKey">/v1/keys.createKey</a>';
    expect(html('`/v1/keys.createKey`')).toBe(`<p><code>${path}</code></p>`);
    expect(html('```sh\ncurl $URL/v1/keys.createKey -d 1\n```')).toContain(`curl $URL${path} -d 1`);
    expect(html('/v1/keys.createKeys')).toBe('<p>/v1/keys.createKeys</p>');
    expect(html('`keys.unknown`')).toBe('<p><code>keys.unknown</code></p>');
    expect(html('[`keys.createKey`](apis.md#x)')).toBe(
      '<p><a href="/docs/guides/apis#x"><code>keys.createKey</code></a></p>',
    );
    expect(html('[a](../http.md)', 'adr/0014-fences')).toBe('<p><a href="/docs/guides/http">a</a></p>');
    expect(html('[a](../README.md#x)')).toBe('<p>a</p>');
    expect(html('[a](javascript:alert(1))')).toBe('<p>a</p>');
    expect(html('![a](speed.svg)', 'benchmark')).toContain('src="/docs/guides/speed.svg"');
  });
});

describe('files', () => {
  test('the viewer is the file that its record names, is sent compressed, and is kept for good', async () => {
    const { headers } = await get(VIEWER_PATH);
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('content-encoding')).toBe('gzip');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const compressed = await Bun.file('src/http/docs/viewer/scalar.js.gz').bytes();
    expect(headers.get('content-length')).toBe(String(compressed.length));
    const script = Bun.gunzipSync(compressed);
    expect(new Bun.CryptoHasher('sha256').update(script).digest('hex')).toBe(origin.sha256);
  });

  test('HEAD tells what GET answers, and a page that did not change is not sent again', async () => {
    for (const path of ['/docs', '/docs/guides/keys', '/docs/assets/pages.css', '/docs/guides/speed.svg']) {
      const [got, head] = [await get(path), await get(path, {}, 'HEAD')];
      const etag = got.headers.get('etag') ?? '';
      expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
      expect([head.status, head.headers.get('etag'), head.text]).toEqual([200, etag, '']);
      const again = await get(path, { 'if-none-match': `"other", W/${etag}` });
      expect([again.status, again.text, again.headers.get('content-length')]).toEqual([304, '', null]);
      expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
    }
  });

  test('browsers find an icon where they look for one, and it is an icon', async () => {
    const { status, headers } = await get('/favicon.ico');
    expect([status, headers.get('content-type')]).toEqual([200, 'image/x-icon']);
    const icon = await Bun.file('src/http/docs/assets/favicon.ico').bytes();
    // One image of 32 x 32 pixels, as PNG.
    expect(Array.from(icon.slice(0, 8))).toEqual([0, 0, 1, 0, 1, 0, 32, 32]);
    expect(Buffer.from(icon.slice(22, 30)).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    expect(headers.get('content-length')).toBe(String(icon.length));
  });

  test('no path of a request becomes the name of a file', async () => {
    for (const path of [
      '/docs/guides/../../package.json',
      '/docs/guides/..%2f..%2fpackage.json',
      '/docs/guides/keys.md',
      '/docs/guides/speed.json',
      '/docs/assets/../site.ts',
      '/docs/assets/scalar.js.gz',
      '/docs/viewer/scalar.json',
      '/docs/guides/',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    }
  });
});
