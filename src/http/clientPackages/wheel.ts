import { PROGRAM_FILES } from '../../programFiles.ts';
import type { Files } from './archives.ts';

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
  const { project } = Bun.TOML.parse(await text('pyproject.toml')) as { project: Project };
  const info = `${project.name}-${project.version}.dist-info`;
  const files = new Map<string, Uint8Array>();
  const sources = Bun.fileURLToPath(new URL('src/', PYTHON));
  const names = await Array.fromAsync(new Bun.Glob('**/{*.py,py.typed}').scan(sources));
  for (const name of names.toSorted()) files.set(name, await Bun.file(new URL(`src/${name}`, PYTHON)).bytes());
  const put = (name: string, content: string): unknown =>
    files.set(`${info}/${name}`, new TextEncoder().encode(content));
  for (const name of project['license-files']) put(`licenses/${name}`, await text(name));
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
  return `${fields.map(([name, value]) => `${name}: ${value}\n`).join('')}\n${await text(project.readme)}`;
}

function recorded([path, bytes]: readonly [string, Uint8Array]): string {
  const digest = new Bun.CryptoHasher('sha256').update(bytes).digest('base64url');
  return `${path},sha256=${digest},${bytes.length}\n`;
}

function text(name: string): Promise<string> {
  return Bun.file(new URL(name, PYTHON)).text();
}
