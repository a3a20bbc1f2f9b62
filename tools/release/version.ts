import { Refused } from './refused.ts';

/** Three numbers and, before a release is final, a part behind a hyphen. What semver allows behind a plus says nothing about order. */
const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-z-][\da-z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-z-][\da-z-]*))*))?$/i;

interface Version {
  readonly numbers: readonly number[];
  readonly before: readonly string[];
}

function parse(text: string): Version | null {
  const found = SEMVER.exec(text);
  if (found === null) return null;
  return { numbers: found.slice(1, 4).map(Number), before: found[4]?.split('.') ?? [] };
}

/** Below 0: `a` comes before `b`, as semver orders them. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [parse(a), parse(b)];
  if (one === null || other === null) throw new Error(`No version: ${one === null ? a : b}`);
  for (const [i, number] of one.numbers.entries()) {
    const difference = number - (other.numbers[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return compareBefore(one.before, other.before);
}

/** 1.0.0-rc.1 comes before 1.0.0. Numbers come before words, and a shorter list before a longer one. */
function compareBefore(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 || other.length === 0) return other.length - one.length;
  for (const [i, part] of one.entries()) {
    const against = other[i];
    if (against === undefined) return 1;
    const difference = comparePart(part, against);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

function comparePart(one: string, other: string): number {
  const areNumbers = [one, other].map((part) => /^\d+$/.test(part));
  if (areNumbers[0] === true && areNumbers[1] === true) return Number(one) - Number(other);
  if (areNumbers[0] !== areNumbers[1]) return areNumbers[0] === true ? -1 : 1;
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

export interface Known {
  /** The version in package.json: the next one, or the one that was released last. */
  readonly present: string;
  /** Every tag of the repository. */
  readonly tags: readonly string[];
  /** Those whose commit the branch of releases does not have. */
  readonly unmerged: readonly string[];
}

/** The version of a release, without the `v` of its tag. Throws why it cannot be the next one. */
export function requireNewVersion(given: string | undefined, { present, tags, unmerged }: Known): string {
  if (given === undefined) throw new Refused('Give the version of the release: npm run release -- 1.2.3');
  if (parse(given) === null) {
    throw new Refused(`The version must be three numbers such as 1.2.3, or 1.2.3-rc.1, got "${given}".`);
  }
  if (unmerged.includes(`v${given}`)) {
    throw new Refused(
      `The tag v${given} exists, and the branch does not have its commit: a release that was killed leaves this. Run git tag -d v${given}, then try again.`,
    );
  }
  if (tags.includes(`v${given}`)) {
    throw new Refused(`The tag v${given} exists: version ${given} is released. Choose a newer version.`);
  }
  const released = tags.filter((tag) => tag.startsWith('v') && parse(tag.slice(1)) !== null).map((tag) => tag.slice(1));
  const newest = released.toSorted(compareVersions).at(-1);
  if (newest !== undefined && compareVersions(given, newest) < 0) {
    throw new Refused(`The version must be newer than ${newest}, the newest release, got "${given}".`);
  }
  if (compareVersions(given, present) < 0) {
    throw new Refused(`The version must not be older than ${present}, the version in package.json, got "${given}".`);
  }
  return given;
}
