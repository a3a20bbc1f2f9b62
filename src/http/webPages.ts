import { AppError } from '../core/errors.ts';
import type { Endpoint } from './routes/route.ts';
import type { AnswerContext } from './answer/answer.ts';
import type { Log } from '../log.ts';
import { escape, ICON_PATH } from './docs/site.ts';
import { PROGRAM_FILES } from '../programFiles.ts';
import { DEPENDENCIES } from '../version.ts';

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

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

interface BuiltAsset {
  readonly type: string;
  /** Compressed with gzip: every browser takes it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The pages, and the source that each begins with. */
const ENTRIES = { dashboard: 'main.tsx', portal: 'portal/portal.tsx' } as const;
type WebPage = keyof typeof ENTRIES;

/** The pages as a browser loads them. */
export interface BuiltPages {
  /** By file name. A name changes with its content. */
  readonly assets: ReadonlyMap<string, BuiltAsset>;
  /** What each page loads first. */
  readonly scripts: Readonly<Record<WebPage, string>>;
  /** All styles: they are small, and a page that is opened later looks right at once. */
  readonly styles: readonly string[];
}

/** The sources of the pages are wrong. The message says where. */
export class BuildFailed extends Error {
  override readonly name = 'BuildFailed';
}

/** Bundles the sources in web/ with the runtime's own bundler. It takes a fraction of a second. */
export async function buildPages(folder: URL = PROGRAM_FILES.web): Promise<BuiltPages> {
  const built = await Bun.build({
    entrypoints: Object.values(ENTRIES).map((entry) => Bun.fileURLToPath(new URL(entry, folder))),
    target: 'browser',
    minify: true,
    splitting: true,
    naming: { entry: '[name]-[hash].[ext]', chunk: 'part-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    jsx: { runtime: 'automatic', importSource: 'preact' },
    throw: false,
  });
  if (!built.success) throw new BuildFailed(built.logs.map(placeAndMessage).join(' '));
  const assets = new Map<string, BuiltAsset>();
  const scripts: Record<WebPage, string> = { dashboard: '', portal: '' };
  const styles: string[] = [];
  for (const output of built.outputs) {
    const name = output.path.replace(/^.*[/\\]/, '');
    const extension = name.replace(/^.*\./, '');
    const type = TYPES[extension];
    if (type === undefined) continue;
    const bytes = Bun.gzipSync(new Uint8Array(await output.arrayBuffer()), { level: 9 });
    assets.set(name, { type, bytes });
    // Parts that are loaded later are chunks, and some of them may have the same name.
    if (output.kind === 'entry-point') scripts[name.startsWith('main-') ? 'dashboard' : 'portal'] = name;
    if (extension === 'css') styles.push(name);
  }
  if (Object.values(scripts).includes('') || styles.length === 0)
    throw new BuildFailed('The result has no script or no style.');
  return { assets, scripts, styles: styles.toSorted() };
}

/** "app.tsx, line 12: Unexpected end of file." */
function placeAndMessage({ message, position }: BuildMessage | ResolveMessage): string {
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  if (position === null) return sentence;
  return `${position.file.replace(/^.*[/\\]web[/\\]/, 'web/')}, line ${position.line}: ${sentence}`;
}

interface BuildSteps {
  readonly currentDigest: () => Promise<string | null>;
  readonly findOrBuild: (digest: string | null) => Promise<BuiltPages>;
}

/**
 * The built pages of this process:
 *
 *   nothing   nobody has asked yet. The first request builds, and others wait for the same build.
 *   built     kept until the process ends
 *   failed    kept until a source changes. Requests meanwhile read the sources, and build nothing.
 */
export class BuildOnce {
  readonly #log: Log;
  readonly #steps: BuildSteps;
  #built: Promise<BuiltPages> | null = null;
  #failed: { readonly digest: string | null; readonly error: BuildFailed } | null = null;

  constructor(log: Log, steps: BuildSteps = { currentDigest, findOrBuild }) {
    this.#log = log;
    this.#steps = steps;
  }

  /** Rejects with BuildFailed when the sources are wrong. */
  get(): Promise<BuiltPages> {
    this.#built ??= this.#build().catch((error: unknown) => {
      this.#built = null;
      throw error;
    });
    return this.#built;
  }

  async #build(): Promise<BuiltPages> {
    const digest = await this.#steps.currentDigest();
    if (this.#failed?.digest === digest) throw this.#failed.error;
    try {
      return await this.#steps.findOrBuild(digest);
    } catch (error) {
      if (!(error instanceof BuildFailed)) throw error;
      this.#failed = { digest, error };
      this.#log.error('the pages cannot be built', { reason: error.message });
      throw error;
    }
  }
}

/** Where the sources of the pages are. What they import of the program is in core. */
const SOURCES = [PROGRAM_FILES.web, PROGRAM_FILES.sdk, PROGRAM_FILES.core, PROGRAM_FILES.basics];

/** Built pages in a file. The digest of their sources says whether they are still what these make. */
interface KeptPages {
  readonly digest: string;
  readonly scripts: BuiltPages['scripts'];
  readonly styles: readonly string[];
  /** By file name; the bytes are in base64. */
  readonly assets: Readonly<Record<string, { readonly type: string; readonly bytes: string }>>;
}

type Places = Pick<typeof PROGRAM_FILES, 'packedPages' | 'cachedPages'>;

/** Changes whenever a source of the pages, or the version of a package, does. */
export async function digestOfSources(): Promise<string> {
  const hash = new Bun.SHA256().update(DEPENDENCIES);
  for (const folder of SOURCES) {
    const cwd = Bun.fileURLToPath(folder);
    const names = await Array.fromAsync(new Bun.Glob('**/*.{ts,tsx,css}').scan({ cwd }));
    for (const name of names.toSorted())
      hash.update(`\n${name}\n`).update(await Bun.file(new URL(name, folder)).bytes());
  }
  return hash.digest('hex');
}

/** null: there are no sources, so the built pages are used as they are. */
async function currentDigest(): Promise<string | null> {
  return PROGRAM_FILES.hasSources ? digestOfSources() : null;
}

/**
 * The pages that these sources make: from the package, which has them built, from the cache of a clone, or built now. A file that is cut
 * off, because another process is just writing it, counts as none.
 */
export async function findOrBuild(digest: string | null, places: Places = PROGRAM_FILES): Promise<BuiltPages> {
  for (const place of [places.packedPages, places.cachedPages]) {
    const found = await readKept(place);
    if (found !== null && (digest === null || found.digest === digest)) return fromKept(found);
  }
  if (digest === null) throw new BuildFailed('This program was made without its pages.');
  const built = await buildPages();
  // If the folder cannot be written to, every start builds the pages again.
  await keep(places.cachedPages, digest, built).catch(() => undefined);
  return built;
}

export async function keep(place: URL, digest: string, { scripts, styles, assets }: BuiltPages): Promise<void> {
  const kept: KeptPages = {
    digest,
    scripts,
    styles,
    assets: Object.fromEntries([...assets].map(([name, { type, bytes }]) => [name, { type, bytes: bytes.toBase64() }])),
  };
  await Bun.write(place, JSON.stringify(kept));
}

async function readKept(place: URL): Promise<KeptPages | null> {
  try {
    return (await Bun.file(place).json()) as KeptPages;
  } catch {
    return null;
  }
}

function fromKept({ scripts, styles, assets }: KeptPages): BuiltPages {
  const decoded = Object.entries(assets).map(
    ([name, { type, bytes }]) => [name, { type, bytes: Uint8Array.fromBase64(bytes) }] as const,
  );
  return { scripts, styles, assets: new Map(decoded) };
}
