import { Refused } from './refused.ts';

/** A place where the version of the project stands. `#` stands for the version. */
export interface Place {
  readonly path: string;
  readonly text: string;
  /** How often the text stands in the file. */
  readonly times: number;
}

const place = (path: string, text: string, times = 1): Place => ({ path, text, times });

/** Every place that a release changes. A test holds it against the files of the project. */
export const PLACES: readonly Place[] = [
  place('package.json', '"version": "#",\n  "description"'),
  place('sdk/package.json', '"version": "#",\n  "description"'),
  place('package-lock.json', '"name": "keystile",\n  "version": "#"'),
  place('package-lock.json', '"name": "keystile",\n      "version": "#"'),
  place('package-lock.json', '"name": "@keystile/sdk",\n      "version": "#"'),
  place('clients/python/pyproject.toml', '\nversion = "#"'),
  place('clients/python/src/keystile/call.py', '__version__ = "#"'),
  place('clients/go/doc.go', 'const Version = "#"'),
  place('clients/go/README.md', 'Version #. Apache-2.0.'),
  place('clients/go/readme_test.go', 'clients/go v#\\n'),
  place('deploy/compose.yaml', 'image: keystile:#\n'),
  place('deploy/kubernetes.yaml', 'image: registry.example/keystile:#\n'),
  place('docs/deployment.md', 'registry.example/keystile:#', 2),
  place('README.md', 'keystile-sdk-#.tgz', 2),
  place('sdk/README.md', 'keystile-sdk-#.tgz', 2),
  place('clients/python/README.md', 'keystile-#-py3', 3),
  place('clients/go/README.md', 'keystile-go-#', 2),
  place('examples/go/go.mod', 'clients/go v#\n'),
  ...['express', 'fastify', 'hono', 'nextjs'].flatMap((name) => [
    place(`examples/${name}/package.json`, 'keystile-sdk-#.tgz'),
  ]),
  place('examples/fastapi/requirements.txt', 'keystile-#-py3'),
  place('docs/protect-a-route.md', 'keystile-sdk-#.tgz', 3),
  place('docs/protect-a-route.md', 'keystile-#-py3', 3),
  place('docs/protect-a-route.md', 'keystile-go-#', 2),
];

/** The text of a file with the next version in its place. Throws when the present one does not stand there. */
export function withVersion({ path, text, times }: Place, content: string, from: string, to: string): string {
  const parts = content.split(text.replace('#', from));
  if (parts.length !== times + 1) {
    throw new Refused(
      `${path} must name version ${from} ${times === 1 ? 'once' : `${times} times`} as ${JSON.stringify(text.replace('#', from))}, and does so ${parts.length - 1} times. Correct it, or the list in tools/release/places.ts.`,
    );
  }
  return parts.join(text.replace('#', to));
}

/** All files that name the version, with the next one. */
export async function filesWithVersion(
  read: (path: string) => Promise<string>,
  from: string,
  to: string,
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const each of PLACES) {
    files.set(each.path, withVersion(each, files.get(each.path) ?? (await read(each.path)), from, to));
  }
  return files;
}
