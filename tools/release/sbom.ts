import type { Lockfile, Manifest } from '../audit/pinned.ts';

/** What is read of a CycloneDX document. The rest is kept as npm wrote it. */
export interface Sbom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
}

export interface Component {
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly unknown[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly externalReferences?: readonly { readonly type: string; readonly url: string }[];
}

type Packages = Lockfile['packages'];

/** Where Node finds a package: in the nearest node_modules. */
function resolve(packages: Packages, from: string, name: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (folder === '') return null;
  }
}

/** What the program runs with by package.json: also what it can do without, which npm installs by default. */
export function runtimePackages({ dependencies, optionalDependencies }: Manifest): Readonly<Record<string, string>> {
  return { ...dependencies, ...optionalDependencies };
}

/**
 * The manifest and the lockfile with the packages that the program runs with, on any platform. `npm sbom --omit dev` leaves out those that
 * development needs too.
 */
export function runtimeOnly<M extends Manifest, L extends Lockfile>(
  manifest: M,
  lockfile: L,
): { manifest: M; lockfile: L } {
  const bare = <T extends object>(all: T): T => ({ ...all, devDependencies: {}, workspaces: [] });
  const needed = new Set<string>();
  const visit = (path: string, named: Manifest): void => {
    for (const name of Object.keys(runtimePackages(named))) {
      const found = resolve(lockfile.packages, path, name);
      if (found === null || needed.has(found)) continue;
      needed.add(found);
      visit(found, lockfile.packages[found] ?? {});
    }
  };
  visit('', manifest);
  const kept = Object.entries(lockfile.packages).filter(([path]) => needed.has(path));
  const packages = { '': bare(lockfile.packages[''] ?? {}), ...Object.fromEntries(kept) };
  return { manifest: bare(manifest), lockfile: { ...lockfile, packages } };
}

/** Without what tells of the machine or the registry that it was made with: where each package was downloaded. */
export function withoutOrigins(sbom: Sbom): Sbom {
  const clean = (component: Component): Component => ({
    ...component,
    ...(component.externalReferences === undefined
      ? {}
      : { externalReferences: component.externalReferences.filter(({ type }) => type !== 'distribution') }),
  });
  return {
    ...sbom,
    metadata: { ...sbom.metadata, component: clean(sbom.metadata.component) },
    components: sbom.components.map(clean),
  };
}

export interface Expected {
  readonly name: string;
  readonly version: string;
  /** Exact versions, of package.json. */
  readonly dependencies: Readonly<Record<string, string>>;
  /** The names of everything that an installation of the package has. */
  readonly installed: readonly string[];
  /** What must not be told: folders of this machine. */
  readonly private: readonly string[];
}

/** What is wrong with it, one sentence each. */
export function sbomProblems(sbom: Sbom, expected: Expected): string[] {
  const { component } = sbom.metadata;
  const problems: string[] = [];
  if (component.name !== expected.name || component.version !== expected.version) {
    problems.push(
      `The SBOM is of ${component.name} ${component.version}, not of ${expected.name} ${expected.version}.`,
    );
  }
  for (const [name, version] of Object.entries(expected.dependencies)) {
    const isListed = sbom.components.some((each) => each.name === name && each.version === version);
    if (!isListed) problems.push(`The SBOM lacks ${name} ${version}, which package.json names.`);
  }
  const names = new Set(sbom.components.map(({ name }) => name));
  for (const name of expected.installed) {
    if (!names.has(name)) problems.push(`The SBOM lacks ${name}, which an installation has.`);
  }
  for (const each of sbom.components) problems.push(...incomplete(each));
  const text = JSON.stringify(sbom);
  const hasOrigins = text.includes('"distribution"') || text.includes('file:');
  if (hasOrigins || expected.private.some((word) => word.length > 3 && text.includes(word))) {
    problems.push('The SBOM names a folder of this machine or a registry.');
  }
  return problems;
}

function incomplete({ name, version, licenses = [], hashes = [] }: Component): string[] {
  const lacks = [
    ...(/^\d+\.\d+\.\d+/.test(version) ? [] : ['version']),
    ...(licenses.length > 0 ? [] : ['licence']),
    ...(hashes.some(({ alg, content }) => alg === 'SHA-512' && /^[0-9a-f]{128}$/.test(content)) ? [] : ['checksum']),
  ];
  return lacks.map((what) => `The SBOM has no ${what} of ${name}.`);
}
