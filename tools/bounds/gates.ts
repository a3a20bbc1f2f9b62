import { type Input, routeOf } from './input.ts';

/** A row fails above this many times its usual value. Smaller than ten, so that a tenfold regression is always noticed. */
export const MAX_GROWTH = 4;

/** No input may keep the answering thread busy for longer without giving way to others. */
export const MAX_TURN_MS = 50;

/**
 * The usual processor time of each input, as a multiple of JSON.parse for 4 MiB of ordinary JSON. Single runs differ by up to a
 * half. Change a value only together with the code that makes an input slower.
 */
export const USUAL: Readonly<Record<string, number>> = {
  'keys.verifyKey: unknown fields': 0.1,
  'keys.verifyKey: texts with the same hash': 0.08,
  'keys.verifyKey: a permission query': 0.05,
  'keys.verifyKey: tags': 0.04,
  'keys.verifyKey: limits': 0.06,
  'keys.verifyKeys: unknown fields': 1.1,
  'keys.verifyKeys: member names with the same hash': 2.4,
  'keys.verifyKeys: texts with the same hash': 0.6,
  'keys.verifyKeys: escapes': 0.4,
  'keys.verifyKeys: nested lists': 2,
  'keys.verifyKeys: permission queries': 4,
  'keys.verifyKeys: limits': 6,
  'keys.forwardAuth: parameters': 0.1,
  'any: an unknown route': 0.008,
  'migrations.createKeys: unknown fields': 5.5,
  'migrations.createKeys: member names with the same hash': 23,
  'migrations.createKeys: texts with the same hash': 8,
  'migrations.createKeys: permissions, the last field wrong': 4.3,
  'migrations.createKeys: permissions that do not exist': 20,
  'migrations.createKeys: addresses, the last field wrong': 3.8,
  'migrations.createKeys: metadata with many words': 1.1,
  'keys.createKeys: unknown fields': 2.2,
  'keys.createKeys: names, owners and metadata with many words': 18,
  'keys.createKeys: strict limits': 13,
  'keys.createKeys: metadata of distinct words': 5,
  'keys.createKeys: long secrets': 20,
  'keys.createKeys: addresses, the last field wrong': 3.5,
  'keys.createKeys: roles, more than there may be': 3,
  'ratelimits.multiLimit: limits against patterns of overrides': 4.2,
  'keys.createKey: nested metadata': 0.6,
  'rootKeys.createRootKey: texts that are not rights': 0.25,
  'apis.listKeys: search words': 0.05,
  'apis.listKeys: unknown parameters': 0.33,
  'analytics.getVerifications: groups and tags': 0.05,
};

export function nameOf(input: Input): string {
  return `${routeOf(input)}: ${input.what}`;
}

export function usualOf(input: Input): number {
  const usual = USUAL[nameOf(input)];
  if (usual === undefined) throw new Error(`tools/bounds/gates.ts has no usual value for "${nameOf(input)}".`);
  return usual;
}

/** `measured`: times JSON.parse for 4 MiB. */
export function isTooSlow(input: Input, measured: number): boolean {
  return measured > usualOf(input) * MAX_GROWTH;
}
