import { AppError } from '../core/errors.ts';
import type { AnswerContext } from './answer/answer.ts';
import type { Endpoint } from './routes/route.ts';
import { PROGRAM_FILES } from '../programFiles.ts';
import { VERSION } from '../version.ts';

const PACKAGES_PATH = '/sdk/';

interface Made {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/**
 * Serves the packages of this version, so that nobody has to trust what somebody else may have published under its name. Each is made for
 * the first request, and kept.
 */
export class PackageSite {
  readonly #made = new Map<string, Promise<Made>>();

  /** The endpoint of a package; undefined: the path names none. */
  at(path: string): Endpoint | undefined {
    if (!path.startsWith(PACKAGES_PATH)) return undefined;
    const name = path.slice(PACKAGES_PATH.length);
    return { methods: ['GET'], answer: (request, _peer, context) => this.#answer(name, request, context) };
  }

  async #answer(name: string, request: Request, { requestId }: AnswerContext): Promise<Response> {
    const known = CLIENT_PACKAGES[name];
    if (known === undefined) {
      const names = Object.keys(CLIENT_PACKAGES).map((each) => PACKAGES_PATH + each);
      throw new AppError('NOT_FOUND', `There is no such package. This service has ${names.join(', ')}.`);
    }
    const { bytes, etag } = await this.#make(name, known);
    const headers = {
      'content-type': known.type,
      'cache-control': 'no-cache',
      etag,
      'x-content-type-options': 'nosniff',
      'keystile-request-id': requestId,
    };
    if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers });
    return new Response(bytes, { headers });
  }

  #make(name: string, known: ClientPackage): Promise<Made> {
    const before = this.#made.get(name);
    if (before !== undefined) return before;
    const making = made(name, known);
    this.#made.set(name, making);
    // A file that could not be read for an instant is read again.
    making.catch(() => this.#made.delete(name));
    return making;
  }
}

async function made(name: string, known: ClientPackage): Promise<Made> {
  const bytes = await clientPackage(name, known);
  return { bytes, etag: `"${new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 32)}"` };
}

interface ClientPackage {
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
async function clientPackage(name: string, { make }: ClientPackage): Promise<Uint8Array<ArrayBuffer>> {
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

/** What `npm install` needs of package.json. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly [field: string]: unknown;
}

/** Of use to whoever works on the SDK, and not to whoever installs it. */
const OF_CHECKOUT: readonly string[] = ['devDependencies', 'scripts'];
/** The types of all requests and answers. There is nothing else in it, so it is its own declaration. */
const TYPES_ONLY = 'generated/api.ts';
/** The fake for tests is made from src/core and src/basics of the service. The package has those files beside its own. */
const SHARED = /(['"])(?:\.\.\/)+src\/(core|basics)\//g;
const SHARED_PATH = /^(core|basics)\/(.*)$/;
const IMPORTED = /(?:from\s+|import\(|import\s+)['"](\.{1,2}\/[^'"]+)\.ts['"]/g;

/** The text of a file of the SDK with the imports that Node and TypeScript resolve in the package. */
export function asPublished(text: string): string {
  return text
    .replaceAll(SHARED, '$1../$2/')
    .replaceAll(/(from\s+|import\(|import\s+)(['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1$2.js$3');
}

/** The modules that the package exports, by their paths in `dist` without the extension. */
export async function sdkEntries(): Promise<string[]> {
  const { exports } = await manifest();
  return Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : entry.default.replace(/^\.\/dist\//, '').replace(/\.js$/, ''),
  );
}

/** The files of the package @keystile/sdk: JavaScript from the sources, with the declarations that stand beside them in sdk/types. */
export async function sdkFiles(): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  const put = (path: string, text: string): unknown => files.set(path, new TextEncoder().encode(text));
  const shipped = Object.entries(await manifest()).filter(([field]) => !OF_CHECKOUT.includes(field));
  put('package.json', `${JSON.stringify(Object.fromEntries(shipped), null, 2)}\n`);
  for (const name of ['README.md', 'LICENSE']) put(name, await read(name));
  const types = Bun.fileURLToPath(new URL('types/', PROGRAM_FILES.sdkPackage));
  for (const name of (await Array.fromAsync(new Bun.Glob('**/*.d.ts').scan(types))).toSorted())
    put(`dist/${name}`, await read(`types/${name}`));
  put(`dist/${TYPES_ONLY.replace(/\.ts$/, '.d.ts')}`, asPublished(await read(`src/${TYPES_ONLY}`)));
  for (const [path, text] of await modules()) put(`dist/${path}.js`, asPublished(text));
  return new Map([...files].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Every module that the entries need when they run, as JavaScript, by its path in `dist`. */
async function modules(): Promise<Map<string, string>> {
  const transpiler = new Bun.Transpiler({ loader: 'ts', target: 'browser' });
  const found = new Map<string, string>();
  const waiting = await sdkEntries();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    const text = transpiler.transformSync(await source(path));
    found.set(path, text);
    const base = new URL(`http://dist/${path}`);
    for (const [, specifier = ''] of text.replaceAll(SHARED, '$1../$2/').matchAll(IMPORTED))
      waiting.push(new URL(specifier, base).pathname.slice(1));
  }
  return found;
}

function source(path: string): Promise<string> {
  const [, folder, name] = SHARED_PATH.exec(path) ?? [];
  if (folder === undefined) return read(`src/${path}.ts`);
  return Bun.file(new URL(`${name}.ts`, PROGRAM_FILES[folder as 'core' | 'basics'])).text();
}

async function manifest(): Promise<Manifest> {
  return JSON.parse(await read('package.json')) as Manifest;
}

function read(path: string): Promise<string> {
  return Bun.file(new URL(path, PROGRAM_FILES.sdkPackage)).text();
}

/** The part of pyproject.toml that a wheel repeats. */
interface Project {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly readme: string;
  readonly license: string;
  readonly 'license-files': readonly string[];
  readonly 'requires-python': string;
  readonly dependencies: readonly string[];
  readonly keywords: readonly string[];
  readonly classifiers: readonly string[];
  readonly 'optional-dependencies': Readonly<Record<string, readonly string[]>>;
}

const PYTHON = new URL('python/', PROGRAM_FILES.clients);

/** The files of the Python client as a wheel (PEP 427). It is pure Python, so nothing is built. */
export async function wheelFiles(): Promise<Files> {
  const { project } = Bun.TOML.parse(await readText('pyproject.toml')) as { project: Project };
  const info = `${project.name}-${project.version}.dist-info`;
  const files = new Map<string, Uint8Array>();
  const sources = Bun.fileURLToPath(new URL('src/', PYTHON));
  const names = await Array.fromAsync(new Bun.Glob('**/{*.py,py.typed}').scan(sources));
  for (const name of names.toSorted()) files.set(name, await Bun.file(new URL(`src/${name}`, PYTHON)).bytes());
  const put = (name: string, content: string): unknown =>
    files.set(`${info}/${name}`, new TextEncoder().encode(content));
  for (const name of project['license-files']) put(`licenses/${name}`, await readText(name));
  put('METADATA', await metadata(project));
  put('WHEEL', 'Wheel-Version: 1.0\nGenerator: keystile\nRoot-Is-Purelib: true\nTag: py3-none-any\n');
  put('RECORD', [...files].map(recorded).join('') + `${info}/RECORD,,\n`);
  return files;
}

/** Core metadata 2.4. */
async function metadata(project: Project): Promise<string> {
  const extras = Object.entries(project['optional-dependencies']);
  const fields: readonly (readonly [string, string])[] = [
    ['Metadata-Version', '2.4'],
    ['Name', project.name],
    ['Version', project.version],
    ['Summary', project.description],
    ['License-Expression', project.license],
    ...project['license-files'].map((name) => ['License-File', name] as const),
    ['Keywords', project.keywords.join(',')],
    ...project.classifiers.map((each) => ['Classifier', each] as const),
    ['Requires-Python', project['requires-python']],
    ...project.dependencies.map((each) => ['Requires-Dist', each] as const),
    ...extras.flatMap(([extra, needed]) => [
      ['Provides-Extra', extra] as const,
      ...needed.map((each) => ['Requires-Dist', `${each}; extra == '${extra}'`] as const),
    ]),
    ['Description-Content-Type', 'text/markdown'],
  ];
  return `${fields.map(([name, value]) => `${name}: ${value}\n`).join('')}\n${await readText(project.readme)}`;
}

function recorded([path, bytes]: readonly [string, Uint8Array]): string {
  const digest = new Bun.CryptoHasher('sha256').update(bytes).digest('base64url');
  return `${path},sha256=${digest},${bytes.length}\n`;
}

function readText(name: string): Promise<string> {
  return Bun.file(new URL(name, PYTHON)).text();
}

/** The files of an archive, by their paths with `/`. */
export type Files = ReadonlyMap<string, Uint8Array>;

/**
 * The same files give the same bytes, on every machine and at every time: lock files of users hold the digests of these archives. So times
 * and owners are fixed, and libdeflate compresses, whose result does not depend on the processor.
 */
const COMPRESSION = { library: 'libdeflate', level: 6 } as const;

const BLOCK = 512;
const MAX_NAME_BYTES = 100;

/** A tar file (POSIX.1-1988, ustar), compressed with gzip. */
export function tarGz(files: Files): Uint8Array<ArrayBuffer> {
  const parts = [...files].flatMap(([path, bytes]) => [
    header(path, bytes.length),
    bytes,
    new Uint8Array(padding(bytes.length)),
  ]);
  return Bun.gzipSync(joined([...parts, new Uint8Array(2 * BLOCK)]), COMPRESSION);
}

function padding(length: number): number {
  return (BLOCK - (length % BLOCK)) % BLOCK;
}

function header(path: string, size: number): Uint8Array {
  if (Buffer.byteLength(path) > MAX_NAME_BYTES) throw new Error(`the name ${path} is too long for an archive`);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): unknown =>
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  block.write(path, 0);
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  // The checksum is taken with blanks in its place.
  block.write('        0', 148, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** 1980-01-01, the first day that a zip file knows. */
const DOS_DATE = 0x21;
const IS_UTF8 = 0x800;
const DEFLATED = 8;
const MADE_ON_UNIX = 0x0314;

/** A zip file (PKWARE APPNOTE 6.3), for which no file may be as large as 4 GiB. */
export function zip(files: Files): Uint8Array<ArrayBuffer> {
  const local: Uint8Array[] = [];
  const central: Uint8Array[] = [];
  let offset = 0;
  for (const [path, bytes] of files) {
    const name = Buffer.from(path);
    const packed = Bun.deflateSync(Uint8Array.from(bytes), COMPRESSION);
    const common = Buffer.alloc(26);
    for (const [at, value] of [20, IS_UTF8, DEFLATED, 0, DOS_DATE].entries()) common.writeUInt16LE(value, 2 * at);
    for (const [at, value] of [Bun.hash.crc32(bytes), packed.length, bytes.length].entries())
      common.writeUInt32LE(value, 10 + 4 * at);
    common.writeUInt16LE(name.length, 22);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(MADE_ON_UNIX, 4);
    common.copy(entry, 6);
    // A regular file that everybody may read.
    entry.writeUInt32LE(0o100644 * 0x10000, 38);
    entry.writeUInt32LE(offset, 42);
    local.push(signed(0x04034b50), common, name, packed);
    central.push(entry, name);
    offset += 4 + common.length + name.length + packed.length;
  }
  const directory = joined(central);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.size, 8);
  end.writeUInt16LE(files.size, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return joined([...local, directory, end]);
}

function signed(signature: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(signature);
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.concat(parts));
}
