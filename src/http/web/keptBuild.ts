import { PROGRAM_FILES } from '../../programFiles.ts';
import { DEPENDENCIES } from '../../version.ts';
import { type BuiltPages, BuildFailed, buildPages } from './build.ts';

/** Where the sources of the pages are. What they import of the program is in core. */
const SOURCES = [PROGRAM_FILES.web, PROGRAM_FILES.sdk, PROGRAM_FILES.core];

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

/** null: there are no sources, and the built pages are what they are. */
export async function currentDigest(): Promise<string | null> {
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
  // A folder that cannot be written to costs a build at every start, and nothing else.
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
