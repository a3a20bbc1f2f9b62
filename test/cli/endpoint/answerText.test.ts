import { describe, expect, test } from 'bun:test';

import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { answerText } from '../../../src/cli/endpoint/answerText.ts';
import type { Endpoint } from '../../../src/cli/endpoint/endpoint.ts';
import endpoints from '../../../src/cli/endpoint/endpoints.json';

const TABLE = endpoints as unknown as readonly Endpoint[];

interface Row {
  readonly properties: object;
}
interface Rows {
  readonly items?: Row;
  readonly properties: { readonly verifications: { readonly items: Row } };
}

function endpoint(path: string): Endpoint {
  return TABLE.find((each) => each.path === path) as Endpoint;
}

const COUNTS = {
  valid: 5,
  notFound: 8,
  forbidden: 0,
  usageExceeded: 1,
  rateLimited: 2,
  disabled: 0,
  insufficientPermissions: 0,
  expired: 0,
  unauthorized: 0,
  total: 16,
  credits: 9,
};

function shown(...rows: readonly object[]): string[] {
  return answerText(endpoint('analytics.getVerifications'), rows, '').split('\n');
}

describe('rows of counts', () => {
  test('show the tag that a row stands for, the total and the credits', () => {
    expect(shown({ ...COUNTS, tag: 'path=/orders' }, COUNTS)).toEqual([
      'TAG           TOTAL  CREDITS  VALID  RATE LIMITED  USAGE EXCEEDED  EXPIRED  DISABLED  INSUFFICIENT PERMISSIONS  FORBIDDEN  NOT FOUND',
      'path=/orders  16     9        5      2             1               0        0         0                         0          8',
      '-             16     9        5      2             1               0        0         0                         0          8',
      '',
    ]);
  });

  test('show everything that they are grouped by, and nothing else', () => {
    const heading = (row: object): string | undefined => shown(row)[0]?.split(/ {2,}TOTAL/)[0];
    expect(heading({ ...COUNTS, time: 0 })).toBe('TIME');
    expect(heading({ ...COUNTS, keyId: 'key_1', tags: [] })).toBe('KEY ID  TAGS');
    expect(heading(COUNTS)).toStartWith('TOTAL');
    const identity = { id: 'id_1', externalId: 'acme' };
    expect(shown({ ...COUNTS, identity })[1]).toStartWith('acme      16');
    expect(shown({ ...COUNTS, identity: { ...identity, externalId: '' } })[1]).toStartWith('id_1      16');
  });

  test.each(['analytics.getVerifications', 'keys.getVerifications'])('%s: every field is a column', (path) => {
    const { response } = ROUTES.find((route) => route.path === `/v1/${path}`) as unknown as { response: Rows };
    const { properties } = response.items ?? response.properties.verifications.items;
    const { columns = [] } = endpoint(path).answer;
    const always0 = 'unauthorized';
    expect(columns.toSorted()).toEqual(
      Object.keys(properties)
        .filter((name) => name !== always0)
        .toSorted(),
    );
  });
});

describe('objects are told in words', () => {
  const text = (path: string, answer: object): string => answerText(endpoint(path), answer, '');

  test('a limit: what is left of it, how it counts, and when it applies', () => {
    const limit = { name: 'hits', limit: 10, duration: 60_000, async: true };
    const told = (more: object): string => text('identities.getIdentity', { ratelimits: [{ ...limit, ...more }] });
    expect(told({ autoApply: true })).toBe('ratelimits  hits: 10 in 1m\n');
    expect(told({ async: false, autoApply: false })).toBe(
      'ratelimits  hits: 10 in 1m, strict, only where it is named\n',
    );
    expect(told({ used: 3, reset: 0, notify: true })).toBe(
      'ratelimits  hits: 10 in 1m, used 3, reset 1970-01-01 00:00:00 UTC, notify\n',
    );
  });

  test('of several limits, the one that refused', () => {
    const result = { name: 'hits', limit: 1, remaining: 0, reset: 0 };
    const answer = {
      success: false,
      results: [
        { ...result, success: false },
        { ...result, success: true },
      ],
    };
    const told = text('ratelimits.multiLimit', answer);
    expect(told).toContain('results  hits: 0 left of 1, reset 1970-01-01 00:00:00 UTC, success no\n');
    expect(told).toContain('results  hits: 0 left of 1, reset 1970-01-01 00:00:00 UTC, success\n');
  });

  test('what a check of a verification found, and which counters it moved', () => {
    const counters = [{ name: 'credits', of: 'key', taken: 1, remaining: 2 }];
    const check = { check: 'credits of the key', result: 'passed', text: 'Enough was left.', counters };
    expect(text('keys.verifyKey', { explanation: [check] })).toBe(
      'explanation  credits of the key: passed. Enough was left. (counters name credits, of key, taken 1, left 2)\n',
    );
  });

  test('a refill, and when it comes next', () => {
    const refill = {
      interval: 'weekly',
      amount: 50,
      refillDay: null,
      refillWeekday: 5,
      timezone: 'UTC',
      mode: 'add',
      max: 200,
    };
    expect(text('keys.getKey', { refill: { ...refill, nextRefillAt: 0 } })).toStartWith(
      'refill   weekly on Friday adds 50 up to 200 (UTC), next refill at 1970-01-01 00:00:00 UTC\n',
    );
    expect(text('keys.getKey', { refill: { interval: 'daily', amount: 5, mode: 'restore' } })).toBe(
      'refill   daily to 5\nexpires  never\n',
    );
  });

  test('metadata stays JSON, and any other object tells each of its members', () => {
    expect(text('keys.getKey', { meta: { limit: 1, duration: 2 }, alerts: { expiresWithinMs: 60_000 } })).toBe(
      'meta     {"limit":1,"duration":2}\nalerts   expires within 1m\nexpires  never\n',
    );
  });

  test('a field that is absent says what that means, where the route says it', () => {
    expect(text('webhooks.getWebhook', { id: 'wh_1' })).toBe('id      wh_1\nevents  all\napis    all\n');
  });
});
