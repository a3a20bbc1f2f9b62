import { GUIDES, IMAGES } from './guideList.ts';

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
