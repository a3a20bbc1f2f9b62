import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { PIPELINE } from '../../../src/engine/verify/pipeline.ts';
import { TestService } from '../../support/service.ts';

const HOUR_MS = 3_600_000;
let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.close());

/** What makes a row of the pipeline refuse. */
interface Violation {
  /** Of the key when it is made. */
  readonly key?: object;
  /** Of the key once it was verified. */
  readonly change?: object;
  readonly request?: object;
  readonly limit?: object;
  /** Of the identity of the key. */
  readonly identity?: object;
}

const limit = (async: boolean) => ({ name: async ? 'local' : 'strict', async, duration: HOUR_MS, limit: 1 });

/** By the name of the check, or by what the row counts. */
const VIOLATIONS: Readonly<Record<string, Violation>> = {
  isOfAnotherApi: { request: { apiId: 'api_other' } },
  isDisabled: { change: { enabled: false } },
  isExpired: { change: { expires: 1 } },
  isOutsideAllowlist: { change: { ipAllowlist: ['198.51.100.1'] } },
  lacksPermissions: { request: { authorization: { permissions: 'never' } } },
  'local limits': { limit: limit(true) },
  'strict limits': { limit: limit(false) },
  'credits of the key': { key: { remaining: 1 } },
  'credits of the identity': { identity: { remaining: 1 } },
};

const nameOf = (row: (typeof PIPELINE)[number]): string => ('refuses' in row ? row.refuses.name : row.name);
/** Rows that hide the key are not among them: nothing is told of such a key. */
const ROWS = PIPELINE.filter(({ code }) => code !== 'NOT_FOUND').map((row) => ({ name: nameOf(row), code: row.code }));
const PAIRS = ROWS.flatMap(({ name, code }, i) =>
  ROWS.slice(i + 1).map((second) => ({ first: name, second: second.name, code })),
);

/** The code of the second verification of a key that violates these rows. */
async function codeOf(...names: readonly string[]): Promise<string> {
  const violations = names.map((name) => VIOLATIONS[name] ?? {});
  const merged = (part: keyof Violation): Record<string, unknown> =>
    Object.assign({}, ...violations.map((each) => each[part]));
  const ratelimits = violations.flatMap((each) => each.limit ?? []);
  const identity = merged('identity');
  const externalId = crypto.randomUUID();
  const isShared = Object.keys(identity).length > 0;
  if (isShared) await service.ok('/v1/identities.createIdentity', { externalId, ...identity });
  const owner = isShared ? { externalId } : {};
  const { key, keyId } = await service.createKey({ ...merged('key'), ratelimits, ...owner });
  expect(await service.verify(key)).toMatchObject({ valid: true });
  const change = merged('change');
  if (Object.keys(change).length > 0) await service.ok('/v1/keys.updateKey', { keyId, ...change });
  return (await service.verify(key, merged('request'))).code;
}

describe('the pipeline', () => {
  test('reads the record first, then counts in memory, then asks the ledger', () => {
    const kinds = PIPELINE.map((row) => ['refuses', 'allows', 'counts'].findIndex((name) => name in row));
    expect(kinds).toEqual(kinds.toSorted((a, b) => a - b));
    expect(new Set(kinds).size).toBe(3);
  });

  test('hides a key before anything is told of it', () => {
    const codes = PIPELINE.map(({ code }) => code);
    expect(nameOf(PIPELINE[0] as (typeof PIPELINE)[number])).toBe('isUnknown');
    expect(codes.lastIndexOf('NOT_FOUND')).toBe(codes.filter((code) => code === 'NOT_FOUND').length - 1);
  });

  test('every row that tells of a key has a way to refuse', () => {
    expect(ROWS.map(({ name }) => name)).toEqual(Object.keys(VIOLATIONS));
  });

  test.each(ROWS)('$name refuses with $code', async ({ name, code }) => {
    expect(await codeOf(name)).toBe(code);
  });

  test.each(PAIRS)('of $first and $second, the first one decides', async ({ first, second, code }) => {
    expect(await codeOf(first, second)).toBe(code);
  });
});
