import { PROGRAM_FILES } from '../../programFiles.ts';
import { DEPENDENCIES } from '../../version.ts';
import { type BuiltDashboard, buildDashboard } from './build.ts';

/** Where the sources of the dashboard are. What it imports of the program is in core. */
const SOURCES = [PROGRAM_FILES.web, PROGRAM_FILES.sdk, PROGRAM_FILES.core];

/** A built dashboard in a file. The digest of its sources says whether it still is what they make. */
interface KeptDashboard {
  readonly digest: string;
  readonly scripts: BuiltDashboard['scripts'];
  readonly styles: readonly string[];
  /** By file name; the bytes are in base64. */
  readonly assets: Readonly<Record<string, { readonly type: string; readonly bytes: string }>>;
}

type Places = Pick<typeof PROGRAM_FILES, 'packedDashboard' | 'cachedDashboard'>;

/** Changes whenever a source of the dashboard, or the version of a package, does. */
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

/**
 * The dashboard that these sources make: from the package, which has it built, from the cache of a clone, or built now. A file that is cut
 * off, because another process is just writing it, counts as none.
 */
export async function findOrBuild(digest: string, places: Places = PROGRAM_FILES): Promise<BuiltDashboard> {
  for (const place of [places.packedDashboard, places.cachedDashboard]) {
    const found = await readKept(place);
    if (found?.digest === digest) return fromKept(found);
  }
  const built = await buildDashboard();
  // A folder that cannot be written to costs a build at every start, and nothing else.
  await keep(places.cachedDashboard, digest, built).catch(() => undefined);
  return built;
}

export async function keep(place: URL, digest: string, { scripts, styles, assets }: BuiltDashboard): Promise<void> {
  const kept: KeptDashboard = {
    digest,
    scripts,
    styles,
    assets: Object.fromEntries([...assets].map(([name, { type, bytes }]) => [name, { type, bytes: bytes.toBase64() }])),
  };
  await Bun.write(place, JSON.stringify(kept));
}

async function readKept(place: URL): Promise<KeptDashboard | null> {
  try {
    return (await Bun.file(place).json()) as KeptDashboard;
  } catch {
    return null;
  }
}

function fromKept({ scripts, styles, assets }: KeptDashboard): BuiltDashboard {
  const decoded = Object.entries(assets).map(
    ([name, { type, bytes }]) => [name, { type, bytes: Uint8Array.fromBase64(bytes) }] as const,
  );
  return { scripts, styles, assets: new Map(decoded) };
}
