import { PROGRAM_FILES } from '../../programFiles.ts';

/** The guides: the pages of docs/, in the order in which they are listed. */
export const GUIDE_GROUPS: Readonly<Record<string, readonly string[]>> = {
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
  ...['overview', 'key', 'customer', 'portal'].flatMap((page) => [
    `pictures/${page}-light.png`,
    `pictures/${page}-dark.png`,
  ]),
];

/** A page or image of docs/. */
export function guideFile(name: string): Bun.BunFile {
  return Bun.file(new URL(name, PROGRAM_FILES.docs));
}

export function guideSource(guide: string): Promise<string> {
  return guideFile(`${guide}.md`).text();
}

/** The first heading of a guide, as text. */
export function titleOf(source: string): string {
  return (/^# +(.*)$/m.exec(source)?.[1] ?? '').replaceAll('`', '');
}

export const GUIDES_PATH = '/docs/guides';

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
    element(image) {
      image.setAttribute('src', imageOf(image.getAttribute('src') ?? '', guide));
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
function linkedOperations(html: string, operations: ReadonlySet<string>): string {
  const names = /<a [\s\S]*?<\/a>|<code>([\w.]+)<\/code>|\/v1\/([\w.]+\w)/g;
  return html.replaceAll(names, (found, code?: string, path?: string) => {
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
