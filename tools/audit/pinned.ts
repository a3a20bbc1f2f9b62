/** A package.json, as far as it names packages. */
export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface LockedPackage extends Manifest {
  readonly version?: string;
  readonly integrity?: string;
  /** A folder of this project. */
  readonly link?: boolean;
  /** Comes inside the archive of another package. */
  readonly inBundle?: boolean;
}

export interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const EXACT = /^(?:npm:(?:@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(?:-[\w.-]+)?$/;
/** A package that a service hands out: it has the version in its name. */
const HANDED_OUT = /^http:\/\/127\.0\.0\.1:7878\/sdk\/[\w-]+-\d+\.\d+\.\d+\.tgz$/;
const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;

function named(manifest: Manifest): [name: string, version: string][] {
  return KINDS.flatMap((kind) => Object.entries(manifest[kind] ?? {}));
}

/** Packages whose version is not exact, one sentence each: a range lets another version in tomorrow. */
export function unpinned(path: string, manifest: Manifest): string[] {
  return named(manifest)
    .filter(([, version]) => !EXACT.test(version) && !HANDED_OUT.test(version))
    .map(([name, version]) => `${path}: ${name} must have an exact version, got "${version}".`);
}

/** What the lockfile does not hold still: a package that the manifest names in another version, or one without a checksum. */
export function unlocked(folder: string, manifest: Manifest, { packages }: Lockfile): string[] {
  const locked = new Map(named(packages[folder] ?? {}));
  return named(manifest)
    .filter(([name, version]) => locked.get(name) !== version)
    .map(
      ([name, version]) =>
        `package-lock.json does not have ${name} ${version} of ${folder || 'the project'}. Run npm install.`,
    );
}

export function withoutChecksum({ packages }: Lockfile): string[] {
  return Object.entries(packages)
    .filter(([path, { link, inBundle, integrity }]) => {
      const isOfOthers = path.includes('node_modules/') && link !== true && inBundle !== true;
      return isOfOthers && integrity?.startsWith('sha512-') !== true;
    })
    .map(([path]) => `package-lock.json has no sha512 checksum of ${path}. Remove the entry and run npm install.`);
}
