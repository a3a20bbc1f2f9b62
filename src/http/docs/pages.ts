import { ERRORS } from '../../core/errors.ts';
import { VERSION } from '../../version.ts';
import { START_PATH, STYLE_PATH, VIEWER_PATH } from './assets.ts';
import { GUIDES_PATH, guideHtml } from './guideHtml.ts';
import { GUIDE_GROUPS, guideSource, titleOf } from './guideList.ts';
import { escape } from './html.ts';

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
export function homePage(hasDashboard: boolean): string {
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
export function referencePage(): string {
  return `${head('Keystile API')}</head><body><div id="reference"></div>
<noscript><main><h1>Keystile API</h1><p>The reference needs JavaScript. Without it, read the <a href="${GUIDES_PATH}">guides</a>,
the <a href="/docs/errors">errors</a> and the <a href="/openapi.json">OpenAPI description</a>.</p></main></noscript>
<script src="${START_PATH}"></script><script src="${VIEWER_PATH}"></script></body></html>`;
}

export function errorsPage(): string {
  const sections = Object.entries(ERRORS).map(
    ([code, { status, when }]) => `<h2 id="${code}">${code} <small>${status}</small></h2><p>${escape(when)}</p>`,
  );
  const body = `<h1>Errors</h1><p>Every error is JSON: <code>{"error": {"code", "message", "docs", "requestId", "issues"?}}</code>.
A verdict such as USAGE_EXCEEDED is not an error: it is HTTP 200 with <code>valid: false</code>. The guide
<a href="${GUIDES_PATH}/errors">Errors</a> says more.</p>${sections.join('')}`;
  return page({ title: 'Keystile errors', body, under: '/docs/errors' });
}

export async function guidesPage(): Promise<string> {
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

export async function guidePage(guide: string, operations: ReadonlySet<string>): Promise<string> {
  const source = await guideSource(guide);
  const body = guideHtml(source, guide, operations);
  return page({ title: `${titleOf(source)} · Keystile`, body, under: GUIDES_PATH });
}
