import { PROGRAM_FILES } from '../../programFiles.ts';

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

export interface BuiltAsset {
  readonly type: string;
  /** Compressed with gzip: every browser takes it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The pages, and the source that each begins with. */
const ENTRIES = { dashboard: 'main.tsx', portal: 'portal/portal.tsx' } as const;
export type WebPage = keyof typeof ENTRIES;

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
