import { ERRORS } from '../../core/errors.ts';
import type { AnswerContext } from '../answer/answer.ts';
import origin from './viewer/scalar.json';
import { PROGRAM_FILES } from '../../programFiles.ts';
import { VERSION } from '../../version.ts';

const GUIDES_PATH = '/docs/guides';

const SHARED = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Pages of text run no script at all. */
const TEXT_POLICY = `default-src 'none'; style-src 'self'; img-src 'self'; ${SHARED}`;
/** The viewer sets styles from its script. It sends requests to this service alone. */
const REFERENCE_POLICY = `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; font-src 'self'; ${SHARED}`;
/** An image may style itself, and do nothing else. */
const IMAGE_POLICY = `default-src 'none'; style-src 'unsafe-inline'; ${SHARED}`;

const KEPT_FOR_GOOD = 'public, max-age=31536000, immutable';

/** What is served at one address. */
interface Served {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The pages of /docs and the files that they load: a closed list of addresses, so that no path of a request becomes the name of a file.
 * Each is made on the first request for it, and kept.
 */
export class DocsSite {
  readonly #makers: ReadonlyMap<string, () => Promise<Served>>;
  readonly #served = new Map<string, Served>();

  /** `operations`: the ids that guides link to the reference. */
  constructor(operations: () => ReadonlySet<string>, hasDashboard: boolean) {
    this.#makers = new Map<string, () => Promise<Served>>([
      ['/', async () => html(homePage(hasDashboard))],
      ['/docs', async () => html(referencePage(), REFERENCE_POLICY)],
      ['/docs/errors', async () => html(errorsPage())],
      [GUIDES_PATH, async () => html(await guidesPage())],
      ...GUIDES.map((guide): [string, () => Promise<Served>] => [
        `${GUIDES_PATH}/${guide}`,
        async () => html(await guidePage(guide, operations())),
      ]),
      ...IMAGES.map((name): [string, () => Promise<Served>] => [`${GUIDES_PATH}/${name}`, () => image(name)]),
      ...Object.entries(ASSETS).map(([path, asset]): [string, () => Promise<Served>] => [path, () => loaded(asset)]),
    ]);
  }

  get paths(): Iterable<string> {
    return this.#makers.keys();
  }

  async answer(path: string, request: Request, { requestId }: AnswerContext): Promise<Response> {
    const served = this.#served.get(path) ?? (await this.#make(path));
    const { bytes } = served;
    const headers = { ...served.headers, 'x-content-type-options': 'nosniff', 'keystile-request-id': requestId };
    if (isAmong(request.headers.get('if-none-match'), served.headers['etag'])) {
      return new Response(null, { status: 304, headers });
    }
    return new Response(bytes, { headers });
  }

  async #make(path: string): Promise<Served> {
    const made = await this.#makers.get(path)?.();
    if (made === undefined) throw new Error(`${path} is not in the list`);
    this.#served.set(path, made);
    return made;
  }
}

/** A browser asks each time whether it has the newest content. */
function checked(bytes: Uint8Array<ArrayBuffer>, headers: Readonly<Record<string, string>>): Served {
  const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 32);
  return { bytes, headers: { ...headers, 'cache-control': 'no-cache', etag: `"${hash}"` } };
}

function html(text: string, policy = TEXT_POLICY): Served {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy };
  return checked(new TextEncoder().encode(text), headers);
}

async function image(name: string): Promise<Served> {
  const headers = {
    'content-type': name.endsWith('.png') ? 'image/png' : 'image/svg+xml',
    'content-security-policy': IMAGE_POLICY,
  };
  return checked(await guideFile(name).bytes(), headers);
}

async function loaded(asset: Asset): Promise<Served> {
  const { type, isGzip, isFixed } = asset;
  const bytes = await readAsset(asset);
  if (!isFixed) return checked(bytes, { 'content-type': type });
  // Sent as it is on disk, whatever the request says: every browser takes gzip, and nobody can make the service unpack it.
  const coding = isGzip ? { 'content-encoding': 'gzip' } : {};
  return { bytes, headers: { 'content-type': type, 'cache-control': KEPT_FOR_GOOD, ...coding } };
}

/** If-None-Match (RFC 9110, 13.1.2). */
function isAmong(known: string | null, etag: string | undefined): boolean {
  return etag !== undefined && (known ?? '').split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}

const NAVIGATION: readonly (readonly [path: string, title: string])[] = [
  ['/docs', 'Reference'],
  [GUIDES_PATH, 'Guides'],
  ['/docs/errors', 'Errors'],
  ['/openapi.json', 'OpenAPI'],
];

interface Page {
  readonly title: string;
  readonly body: string;
  /** The entry of the navigation that the page belongs to. */
  readonly under?: string;
}

function page({ title, body, under }: Page): string {
  const links = NAVIGATION.map(
    ([path, name]) => `<a href="${path}"${path === under ? ' aria-current="page"' : ''}>${name}</a>`,
  );
  return `${head(title)}<link rel="stylesheet" href="${STYLE_PATH}"></head><body><header><nav aria-label="Documentation"><a class="home" href="/">Keystile</a>${links.join('')}</nav></header>
<main>${body}</main></body></html>`;
}

function head(title: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${escape(title)}</title>`;
}

/** `hasDashboard`: the dashboard is on. */
function homePage(hasDashboard: boolean): string {
  const dashboard = hasDashboard
    ? '<li><a href="/dashboard">Dashboard</a>: see verifications as they happen, and manage keys</li>'
    : '';
  const body = `<h1>Keystile ${VERSION}</h1><p>API keys with exact credits, scheduled refill and rate limits.</p>
<ul>${dashboard}<li><a href="/docs">Reference</a>: every call, with its fields, examples and a form to try it</li>
<li><a href="${GUIDES_PATH}">Guides</a>: how the calls work together, and how to run the service</li>
<li><a href="/docs/errors">Errors</a>: every code, and what to do about it</li>
<li><a href="/openapi.json">OpenAPI description</a></li><li><a href="/v1/liveness">Liveness</a></li></ul>`;
  return page({ title: 'Keystile', body });
}

/** The viewer reads /openapi.json and fills the page. */
function referencePage(): string {
  return `${head('Keystile API')}</head><body><div id="reference"></div>
<noscript><main><h1>Keystile API</h1><p>The reference needs JavaScript. Without it, read the <a href="${GUIDES_PATH}">guides</a>,
the <a href="/docs/errors">errors</a> and the <a href="/openapi.json">OpenAPI description</a>.</p></main></noscript>
<script src="${START_PATH}"></script><script src="${VIEWER_PATH}"></script></body></html>`;
}

function errorsPage(): string {
  const sections = Object.entries(ERRORS).map(
    ([code, { status, when }]) => `<h2 id="${code}">${code} <small>${status}</small></h2><p>${escape(when)}</p>`,
  );
  const body = `<h1>Errors</h1><p>Every error is JSON: <code>{"error": {"code", "message", "docs", "requestId", "issues"?}}</code>.
A verdict such as USAGE_EXCEEDED is not an error: it is HTTP 200 with <code>valid: false</code>. The guide
<a href="${GUIDES_PATH}/errors">Errors</a> says more.</p>${sections.join('')}`;
  return page({ title: 'Keystile errors', body, under: '/docs/errors' });
}

async function guidesPage(): Promise<string> {
  const groups = Object.entries(GUIDE_GROUPS).map(async ([name, guides]) => {
    const items = guides.map(
      async (guide) => `<li><a href="${GUIDES_PATH}/${guide}">${escape(titleOf(await guideSource(guide)))}</a></li>`,
    );
    const id = name.toLowerCase().replaceAll(' ', '-');
    return `<section><h2 id="${id}">${name}</h2><ul>${(await Promise.all(items)).join('')}</ul></section>`;
  });
  const body = `<h1>Guides</h1><p>The <a href="/docs">reference</a> has every call with all its fields.</p>
<div class="groups">${(await Promise.all(groups)).join('')}</div>`;
  return page({ title: 'Keystile guides', body, under: GUIDES_PATH });
}

async function guidePage(guide: string, operations: ReadonlySet<string>): Promise<string> {
  const source = await guideSource(guide);
  const body = guideHtml(source, guide, operations);
  return page({ title: `${titleOf(source)} · Keystile`, body, under: GUIDES_PATH });
}

/** The files that pages load, beside the images of guides. */
const JAVASCRIPT = 'text/javascript; charset=utf-8';

interface Asset {
  readonly file: string;
  readonly type: string;
  /** The file is compressed with gzip. */
  readonly isGzip: boolean;
  /** The address changes with the content, so a browser keeps it for good. */
  readonly isFixed: boolean;
}

/** The viewer of the reference. */
export const VIEWER_PATH = `/docs/assets/scalar-${origin.version}-${origin.sha256.slice(0, 16)}.js`;
/** Starts the viewer. */
const START_PATH = '/docs/assets/reference.js';
export const STYLE_PATH = '/docs/assets/pages.css';
/** Browsers ask for it beside every page that names no icon. */
export const ICON_PATH = '/favicon.ico';

export const ASSETS: Readonly<Record<string, Asset>> = {
  [VIEWER_PATH]: { file: 'viewer/scalar.js.gz', type: JAVASCRIPT, isGzip: true, isFixed: true },
  [START_PATH]: { file: 'assets/reference.js', type: JAVASCRIPT, isGzip: false, isFixed: false },
  [STYLE_PATH]: { file: 'assets/pages.css', type: 'text/css; charset=utf-8', isGzip: false, isFixed: false },
  [ICON_PATH]: { file: 'assets/favicon.ico', type: 'image/x-icon', isGzip: false, isFixed: false },
};

function readAsset({ file }: Asset): Promise<Uint8Array<ArrayBuffer>> {
  return Bun.file(new URL(file, PROGRAM_FILES.assets)).bytes();
}

export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** The guides: the pages of docs/, in the order in which they are listed. */
const GUIDE_GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Use it': [
    'protect-a-route',
    'recipes',
    'keys',
    'credits',
    'reservations',
    'ratelimits',
    'apis',
    'customers',
    'plans',
    'permissions',
    'standalone-limits',
    'imports',
    'usage',
    'analytics',
    'audit',
    'webhooks',
    'payments',
    'root-keys',
    'dashboard',
    'portal',
    'gateways',
    'errors',
    'migrating',
  ],
  'Run it': [
    'cli',
    'configuration',
    'deployment',
    'operations',
    'monitoring',
    'incidents',
    'sizing',
    'backup',
    'upgrade',
    'move',
    'scaling',
    'security',
    'http',
    'bounds',
    'promises',
    'reliability',
    'benchmark',
    'versioning',
  ],
  'Work on it': ['architecture', 'glossary', 'dependencies'],
  Decisions: [
    'adr/0001-restore-is-the-default-refill',
    'adr/0002-log-and-writer-thread',
    'adr/0003-accounts-and-revisions',
    'adr/0004-local-midnight-without-temporal',
    'adr/0005-unknown-fields-and-duplicate-members',
    'adr/0006-numbers-instead-of-objects',
    'adr/0007-postgres-ledger',
    'adr/0008-freshness-and-local-counts',
    'adr/0009-generations-of-keys',
    'adr/0010-search-by-words',
    'adr/0011-the-audit-log-is-its-own-table',
    'adr/0012-counts-go-through-a-log',
    'adr/0013-a-front-of-its-own',
    'adr/0014-fences',
    'adr/0015-clients',
    'adr/0016-changes-share-commits',
    'adr/0017-events-and-webhooks',
    'adr/0018-statements-grants-and-reservations',
    'adr/0019-a-session-is-a-record',
    'adr/0020-a-customer-acts-with-a-root-key-cut-down',
    'adr/0021-a-moved-service-does-not-start',
    'adr/0022-identities-are-rows',
    'adr/0023-what-is-due-comes-first',
    'adr/0024-clients-take-turns',
    'adr/0025-records-are-declared-once',
  ],
};

export const GUIDES: readonly string[] = Object.values(GUIDE_GROUPS).flat();

/** The images that guides show. */
export const IMAGES: readonly string[] = [
  'regions.svg',
  'speed.svg',
  'verification.svg',
  ...['overview', 'key', 'customer', 'portal'].flatMap((shown) => [
    `pictures/${shown}-light.png`,
    `pictures/${shown}-dark.png`,
  ]),
];

/** A page or image of docs/. */
function guideFile(name: string): Bun.BunFile {
  return Bun.file(new URL(name, PROGRAM_FILES.docs));
}

function guideSource(guide: string): Promise<string> {
  return guideFile(`${guide}.md`).text();
}

/** The first heading of a guide, as text. */
function titleOf(source: string): string {
  return (/^# +(.*)$/m.exec(source)?.[1] ?? '').replaceAll('`', '');
}

/** HTML in a guide is shown as text. Headings get the ids that GitHub gives them. */
const OPTIONS = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true };
/** They tell the tools which parts are generated. */
const COMMENTS = /^<!--.*-->\n/gm;

/**
 * A guide as HTML. Links between guides lead to the served pages, and the name of an operation leads to its place in the reference. A link
 * to a file that is not served becomes plain text.
 */
export function guideHtml(source: string, guide: string, operations: ReadonlySet<string>): string {
  const rewriter = new HTMLRewriter();
  rewriter.on('a', {
    element(link) {
      const target = targetOf(link.getAttribute('href') ?? '', guide);
      if (target === null) link.removeAndKeepContent();
      else link.setAttribute('href', target);
    },
  });
  rewriter.on('img', {
    element(picture) {
      picture.setAttribute('src', imageOf(picture.getAttribute('src') ?? '', guide));
    },
  });
  // Wide tables and code scroll by themselves, so that a phone does not scroll the whole page.
  rewriter.on('table', {
    element(table) {
      table.before('<div class="wide" tabindex="0">', { html: true });
      table.after('</div>', { html: true });
    },
  });
  return linkedOperations(rewriter.transform(Bun.markdown.html(source.replaceAll(COMMENTS, ''), OPTIONS)), operations);
}

/** `keys.createKey` as code, and `/v1/keys.createKey` anywhere, but not inside of a link. */
function linkedOperations(rendered: string, operations: ReadonlySet<string>): string {
  const names = /<a [\s\S]*?<\/a>|<code>([\w.]+)<\/code>|\/v1\/([\w.]+\w)/g;
  return rendered.replaceAll(names, (found, code?: string, path?: string) => {
    const name = code ?? path;
    return name !== undefined && operations.has(name) ? `<a href="/docs#${name}">${found}</a>` : found;
  });
}

/** Where a link of a guide leads; null: to a file that is not served. */
function targetOf(href: string, guide: string): string | null {
  if (/^(?:https?:\/\/|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const file = beside(guide, path);
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (file.replace(/\/$/, '') === 'adr') return `${GUIDES_PATH}#decisions`;
  const name = file.replace(/\.md$/, '');
  return file.endsWith('.md') && GUIDES.includes(name) ? `${GUIDES_PATH}/${name}${suffix}` : null;
}

function imageOf(src: string, guide: string): string {
  const name = beside(guide, src);
  return IMAGES.includes(name) ? `${GUIDES_PATH}/${name}` : '';
}

/** A path as a guide writes it, from docs/ on. Empty for what is outside. */
function beside(guide: string, path: string): string {
  const { pathname } = new URL(path, `http://keystile/docs/${guide}`);
  return pathname.startsWith('/docs/') ? pathname.slice('/docs/'.length) : '';
}
