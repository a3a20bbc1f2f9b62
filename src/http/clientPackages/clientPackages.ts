import { PROGRAM_FILES } from '../../programFiles.ts';
import { VERSION } from '../../version.ts';
import { type Files, tarGz, zip } from './archives.ts';
import { sdkFiles } from './sdkPackage.ts';
import { wheelFiles } from './wheel.ts';

export interface ClientPackage {
  readonly type: string;
  readonly make: () => Promise<Uint8Array<ArrayBuffer>>;
}

/** The packages of this version, by file name. npm and pip read the version from the name. */
export const CLIENT_PACKAGES: Readonly<Record<string, ClientPackage>> = {
  [`keystile-sdk-${VERSION}.tgz`]: {
    type: 'application/gzip',
    make: async () => tarGz(below('package', await sdkFiles())),
  },
  [`keystile-${VERSION}-py3-none-any.whl`]: { type: 'application/zip', make: async () => zip(await wheelFiles()) },
  [`keystile-go-${VERSION}.tar.gz`]: {
    type: 'application/gzip',
    make: async () => tarGz(below(`keystile-go-${VERSION}`, await goFiles())),
  },
};

/** In a checkout they are made from what is there now. The npm package and the executable file have them as they were packed. */
export async function clientPackage(name: string, { make }: ClientPackage): Promise<Uint8Array<ArrayBuffer>> {
  const isCheckout = await Bun.file(new URL('types/index.d.ts', PROGRAM_FILES.sdkPackage)).exists();
  return isCheckout ? make() : Bun.file(packedAt(name)).bytes();
}

/** Makes all of them for an installation that has no sources of theirs. */
export async function packClients(): Promise<void> {
  for (const [name, { make }] of Object.entries(CLIENT_PACKAGES)) await Bun.write(packedAt(name), await make());
}

/** Where `npm pack` puts one. */
export function packedAt(name: string): URL {
  return new URL(name, PROGRAM_FILES.packedClients);
}

/** The module for Go, without its tests. */
async function goFiles(): Promise<Files> {
  const folder = new URL('go/', PROGRAM_FILES.clients);
  const names = await Array.fromAsync(new Bun.Glob('{*.go,go.mod,README.md,LICENSE}').scan(Bun.fileURLToPath(folder)));
  const shipped = names.filter((name) => !name.endsWith('_test.go')).toSorted();
  return new Map(
    await Promise.all(shipped.map(async (name) => [name, await Bun.file(new URL(name, folder)).bytes()] as const)),
  );
}

function below(folder: string, files: Files): Files {
  return new Map([...files].map(([path, bytes]) => [`${folder}/${path}`, bytes]));
}
