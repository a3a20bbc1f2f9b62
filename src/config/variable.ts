import type { Kind } from './kinds.ts';

/**
 * Where a setting comes from: `environment` is its variable, `file` is the file that NAME_FILE names, `standard` is a variable that other
 * programs read, too.
 */
export type Origin = 'default' | 'environment' | 'file' | 'flag' | 'standard';

/** A setting: its name, what it may be, and what it means. */
export interface Variable<T, F extends string | null> {
  readonly name: string;
  readonly kind: Kind<T>;
  /** The default, written as a user would write it. Null: no default. */
  readonly fallback: F;
  readonly meaning: string;
  /** Never printed. NAME_FILE can name a file that contains it. */
  readonly isSecret?: true;
  /** A variable that other programs read, too. It counts where this one is not set; a wrong value of it is ignored. */
  readonly standard?: string;
}

export function variable<T, F extends string | null>(
  name: string,
  kind: Kind<T>,
  fallback: F,
  meaning: string,
): Variable<T, F> {
  return { name: `KEYSTILE_${name}`, kind, fallback, meaning };
}

export function secret<T>(name: string, kind: Kind<T>, meaning: string): Variable<T, null> {
  return { ...variable(name, kind, null, meaning), isSecret: true };
}
