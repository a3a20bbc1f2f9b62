import { AppError } from '../../core/errors.ts';
import type { Endpoint } from '../routes/route.ts';
import type { AnswerContext } from '../answer/answer.ts';
import type { Log } from '../../log.ts';
import { escape, ICON_PATH } from '../docs/site.ts';
import { BuildFailed, BuildOnce, type BuiltPages, type WebPage } from './build.ts';

export const DASHBOARD_PATH = '/dashboard';
/** Files of all pages. They do not lie below /dashboard, because the portal is there when the dashboard is off. */
const ASSETS_PATH = '/assets/';

/** No inline script or style, nothing from elsewhere, and no page may show this one inside of itself. */
const POLICY =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; img-src 'self' data:";
const KEPT_FOR_GOOD = 'public, max-age=31536000, immutable';

/** The pages and the files that they load: a closed list of names. They are built for the first request, and kept. */
export class WebSite {
  readonly #build: BuildOnce;

  constructor(log: Log) {
    this.#build = new BuildOnce(log);
  }

  /** Every address below /dashboard is the same page. The script shows what the address names. */
  async page(page: WebPage, { requestId }: AnswerContext): Promise<Response> {
    const found = await this.#pages();
    return new Response(found instanceof BuildFailed ? failureHtml(found) : html(page, found), {
      status: found instanceof BuildFailed ? 500 : 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': POLICY,
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'keystile-request-id': requestId,
      },
    });
  }

  /** null: there is no such file, or no longer: the page was opened before an upgrade. */
  async #asset(name: string, { requestId }: AnswerContext): Promise<Response | null> {
    const built = await this.#pages();
    const found = built instanceof BuildFailed ? undefined : built.assets.get(name);
    if (found === undefined) return null;
    return new Response(found.bytes, {
      headers: {
        'content-type': found.type,
        'content-encoding': 'gzip',
        'cache-control': KEPT_FOR_GOOD,
        'x-content-type-options': 'nosniff',
        'keystile-request-id': requestId,
      },
    });
  }

  /** The endpoint of a file; undefined: the path names none. */
  assetAt(path: string): Endpoint | undefined {
    if (!path.startsWith(ASSETS_PATH)) return undefined;
    return {
      methods: ['GET'],
      answer: async (_request, _peer, context) => {
        const found = await this.#asset(path.slice(ASSETS_PATH.length), context);
        if (found === null) throw new AppError('NOT_FOUND', 'There is no such file. Reload the page.');
        return found;
      },
    };
  }

  #pages(): Promise<BuiltPages | BuildFailed> {
    return this.#build.get().catch((error: unknown) => {
      if (error instanceof BuildFailed) return error;
      throw error;
    });
  }
}

/** For whoever has changed web/ and sees this. */
function failureHtml({ message }: BuildFailed): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Keystile</title></head>
<body><h1>The page cannot be built</h1>
<p>${escape(message)}</p>
<p>Correct the file and reload this page. The rest of the service goes on.</p></body>
</html>
`;
}

/** The portal shows nothing of Keystile. */
const ICONS: Readonly<Record<WebPage, string>> = { dashboard: ICON_PATH, portal: 'data:,' };

function html(page: WebPage, { scripts, styles }: BuiltPages): string {
  const links = styles.map((name) => `<link rel="stylesheet" href="${ASSETS_PATH}${name}">`).join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Keystile</title>
<link rel="icon" href="${ICONS[page]}">
${links}
<script type="module" src="${ASSETS_PATH}${scripts[page]}"></script>
</head>
<body><div id="app"><p class="loading">Loading …</p></div><noscript>This page needs JavaScript.</noscript></body>
</html>
`;
}
