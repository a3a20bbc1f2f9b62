import { PROGRAM_FILES } from '../../programFiles.ts';

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
/** The fake for tests is made from src/core of the service. The package has those files beside its own. */
const CORE = /(['"])(?:\.\.\/)+src\/core\//g;
const IMPORTED = /(?:from\s+|import\(|import\s+)['"](\.{1,2}\/[^'"]+)\.ts['"]/g;

/** The text of a file of the SDK with the imports that Node and TypeScript resolve in the package. */
export function asPublished(text: string): string {
  return text
    .replaceAll(CORE, '$1../core/')
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
    for (const [, specifier = ''] of text.replaceAll(CORE, '$1../core/').matchAll(IMPORTED))
      waiting.push(new URL(specifier, base).pathname.slice(1));
  }
  return found;
}

function source(path: string): Promise<string> {
  const isOfCore = path.startsWith('core/');
  return isOfCore
    ? Bun.file(new URL(`${path.slice('core/'.length)}.ts`, PROGRAM_FILES.core)).text()
    : read(`src/${path}.ts`);
}

async function manifest(): Promise<Manifest> {
  return JSON.parse(await read('package.json')) as Manifest;
}

function read(path: string): Promise<string> {
  return Bun.file(new URL(path, PROGRAM_FILES.sdkPackage)).text();
}
