import { ERRORS } from '../../core/errors.ts';
import { VERSION } from '../../version.ts';
import type { FieldRights } from '../shapes/fieldRights.ts';
import { FieldTables } from './fieldTables.ts';
import { escape, words } from './html.ts';
import type { OpenApiDocument } from './openApi.ts';
import type { Operation } from './operations.ts';

/** Plain HTML pages without scripts or external files. */

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
pre{background:#f4f4f2;padding:.75rem;overflow-x:auto;border-radius:4px}code{font:14px ui-monospace,monospace}
h2{border-top:1px solid #ddd;padding-top:1rem;margin-top:2rem}a{color:#0b57d0}table{border-collapse:collapse}
td,th{border-bottom:1px solid #ddd;padding:.25rem .75rem .25rem 0;text-align:left;vertical-align:top}
@media(prefers-color-scheme:dark){body{background:#161616;color:#e6e6e6}pre{background:#242424}a{color:#8ab4f8}h2,td,th{border-color:#444}}`;

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(title)}</title><style>${STYLE}</style></head><body>${body}</body></html>`;
}

export function homePage(): string {
  return page(
    'Keystile',
    `<h1>Keystile ${VERSION}</h1><p>API keys with exact credits, scheduled refill and rate limits.</p>
<ul><li><a href="/docs">The API, endpoint by endpoint</a></li><li><a href="/docs/errors">Errors</a></li>
<li><a href="/openapi.json">OpenAPI description</a></li><li><a href="/v1/liveness">Liveness</a></li></ul>`,
  );
}

/** The order of the groups, and the operations that come first. All others keep the order of the document. */
const GROUPS = ['keys', 'apis', 'identities', 'permissions', 'ratelimits', 'analytics', 'migrations'];
const FIRST = ['keys.verifyKey', 'keys.verifyKeys', 'keys.forwardAuth', 'keys.createKey'];

interface Shown {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

function grouped(document: OpenApiDocument): [string, Shown[]][] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method === 'get' || methods['get'] === undefined)
      .map(([method, operation]) => ({ path, method, operation })),
  );
  const groupOf = ({ operation }: Shown): string => operation.tags[0] ?? '';
  const isFirst = ({ operation }: Shown): boolean => FIRST.includes(operation.operationId);
  const first = FIRST.flatMap((id) => operations.filter(({ operation }) => operation.operationId === id));
  const ordered = [...first, ...operations.filter((each) => !isFirst(each))];
  const names = new Set([...GROUPS, ...ordered.map(groupOf)]);
  return [...names].map((name) => [name, ordered.filter((each) => groupOf(each) === name)]);
}

export function docsPage(document: OpenApiDocument): string {
  const groups = grouped(document);
  const fields = new FieldTables(document.components.schemas);
  const line = ({ operation: { operationId, summary } }: Shown): string =>
    `<li><a href="#${operationId}">${operationId}</a>: ${words(summary)}</li>`;
  const contents = groups.map(([name, shown]) => `<h3>${escape(name)}</h3><ul>${shown.map(line).join('')}</ul>`);
  return page(
    'Keystile API',
    `<h1>Keystile API</h1><p>JSON in and out. Management calls need a root key as
<code>Authorization: Bearer root_...</code>; verifying needs only the key, unless KEYSTILE_VERIFY_AUTH is <code>required</code>.
Every GET endpoint also answers POST with the same fields. <code>?pretty</code> indents an answer.
<a href="/docs/errors">Errors</a> · <a href="/openapi.json">OpenAPI</a></p>${contents.join('')}
${groups.flatMap(([, shown]) => shown.map((each) => operationSection(each, fields))).join('\n')}`,
  );
}

function operationSection({ path, method, operation }: Shown, fields: FieldTables): string {
  const { summary, description = '' } = operation;
  return `<h2 id="${operation.operationId}"><code>${method.toUpperCase()} ${path}</code></h2>
<p>${words(`${summary} ${description}`.trim())}</p>${neededRights(operation)}
${fields.table(operation)}${exampleBlocks(operation)}`;
}

function neededRights(operation: Operation): string {
  const rights = operation['x-rights']?.map(inCode);
  if (rights === undefined) return '';
  const needed = rights.join(operation['x-one-right-is-enough'] ? ' or ' : ' and ');
  return `<p>Needs: ${needed}${(operation['x-field-rights'] ?? []).map(fieldRights).join('')}</p>`;
}

function fieldRights({ fields, rights, unless }: FieldRights): string {
  const except = unless === undefined ? '' : `, unless it has ${inCode(unless)}`;
  return `; with ${fields.map(inCode).join(' or ')} also ${rights.map(inCode).join(' and ')}${except}`;
}

function inCode(text: string): string {
  return `<code>${escape(text)}</code>`;
}

function exampleBlocks(operation: Operation): string {
  const request = operation.requestBody?.content['application/json'].example;
  const { 200: done, 202: accepted = done } = operation.responses;
  const ok = accepted as { content: { 'application/json': { example: object } } } | undefined;
  const answer = ok?.content['application/json'].example;
  const show = (label: string, value: object | undefined): string =>
    value === undefined ? '' : `<p>${label}</p><pre><code>${escape(JSON.stringify(value, null, 2))}</code></pre>`;
  return show('Request', request) + show('Answer', answer);
}

export function errorsPage(): string {
  const sections = Object.entries(ERRORS).map(([code, { status, when }]) => {
    return `<h2 id="${code}">${code} <small>${status}</small></h2><p>${escape(when)}</p>`;
  });
  return page(
    'Keystile errors',
    `<h1>Errors</h1><p>Every error is JSON: <code>{"error": {"code", "message", "docs", "requestId", "issues"?}}</code>.
A verdict such as USAGE_EXCEEDED is not an error: it is HTTP 200 with <code>valid: false</code>.</p>${sections.join('')}`,
  );
}
