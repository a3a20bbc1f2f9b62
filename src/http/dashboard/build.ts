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

/** The dashboard as a browser loads it. */
export interface BuiltDashboard {
  /** By file name. A name changes with its content. */
  readonly assets: ReadonlyMap<string, BuiltAsset>;
  /** What the page loads first. */
  readonly script: string;
  /** All styles: they are small, and a page that is opened later looks right at once. */
  readonly styles: readonly string[];
}

/** The sources of the dashboard are wrong. The message says where. */
export class BuildFailed extends Error {
  override readonly name = 'BuildFailed';
}

/** Bundles the sources in web/ with the runtime's own bundler. It takes a fraction of a second. */
export async function buildDashboard(folder: URL = PROGRAM_FILES.web): Promise<BuiltDashboard> {
  const built = await Bun.build({
    entrypoints: [Bun.fileURLToPath(new URL('main.tsx', folder))],
    target: 'browser',
    minify: true,
    splitting: true,
    naming: { entry: 'main-[hash].[ext]', chunk: 'part-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    jsx: { runtime: 'automatic', importSource: 'preact' },
    throw: false,
  });
  if (!built.success) throw new BuildFailed(built.logs.map(placeAndMessage).join(' '));
  const assets = new Map<string, BuiltAsset>();
  let script = '';
  const styles: string[] = [];
  for (const output of built.outputs) {
    const name = output.path.replace(/^.*[/\\]/, '');
    const extension = name.replace(/^.*\./, '');
    const type = TYPES[extension];
    if (type === undefined) continue;
    const bytes = Bun.gzipSync(new Uint8Array(await output.arrayBuffer()), { level: 9 });
    assets.set(name, { type, bytes });
    // Other pages are chunks, and some of them may have the same name.
    if (output.kind === 'entry-point') script = name;
    if (extension === 'css') styles.push(name);
  }
  if (script === '' || styles.length === 0) throw new BuildFailed('The result has no script or no style.');
  return { assets, script, styles: styles.toSorted() };
}

/** "app.tsx, line 12: Unexpected end of file." */
function placeAndMessage({ message, position }: BuildMessage | ResolveMessage): string {
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  if (position === null) return sentence;
  return `${position.file.replace(/^.*[/\\]web[/\\]/, 'web/')}, line ${position.line}: ${sentence}`;
}
