import { describe, expect, test } from 'bun:test';

import {
  coversRight,
  OPERATIONS,
  holdsRight,
  holdsRightSomewhere,
  idsWithRight,
  isRight,
  rightTo,
} from '../../src/core/rights.ts';

describe('rights', () => {
  test('`*` holds every operation on everything', () => {
    for (const operation of OPERATIONS) {
      expect(holdsRight(['*'], operation, 'api_1')).toBe(true);
      expect(holdsRight(['*'], operation, '*')).toBe(true);
      expect(holdsRightSomewhere(['*'], operation)).toBe(true);
      expect(idsWithRight(['*'], operation)).toBeNull();
    }
  });

  test('a right on one api is none on another, nor on all', () => {
    const rights = ['api.api_1.read_key'];
    expect(holdsRight(rights, 'api.read_key', 'api_1')).toBe(true);
    expect(holdsRight(rights, 'api.read_key', 'api_2')).toBe(false);
    expect(holdsRight(rights, 'api.read_key', '*')).toBe(false);
    expect(holdsRight(rights, 'api.read_key', '')).toBe(false);
  });

  test('a right to one operation is none to another, on nothing', () => {
    for (const held of OPERATIONS) {
      for (const asked of OPERATIONS) {
        expect(holdsRight([rightTo(held, '*')], asked, 'id_1')).toBe(held === asked);
        expect(holdsRight([rightTo(held, 'id_1')], asked, 'id_1')).toBe(held === asked);
        expect(holdsRightSomewhere([rightTo(held, 'id_1')], asked)).toBe(held === asked);
      }
    }
  });

  test('no rights hold nothing', () => {
    for (const operation of OPERATIONS) {
      expect(holdsRight([], operation, 'api_1')).toBe(false);
      expect(holdsRightSomewhere([], operation)).toBe(false);
      expect(idsWithRight([], operation)).toEqual([]);
    }
  });

  test('an id that is spelt like a right opens nothing', () => {
    expect(holdsRight(['api.api_1.read_key'], 'api.read_key', 'api_1.read_key.x')).toBe(false);
    expect(holdsRightSomewhere(['api.api_1.read_key.delete_key'], 'api.delete_key')).toBe(false);
    expect(idsWithRight(['api.api_1.x.read_key'], 'api.read_key')).toEqual([]);
  });

  test('the ids of a right are those that are named, and of that operation alone', () => {
    const rights = ['api.api_1.read_key', 'api.api_2.read_key', 'api.api_3.read_api', 'identity.api_4.read_identity'];
    expect(idsWithRight(rights, 'api.read_key')).toEqual(['api_1', 'api_2']);
    expect(idsWithRight([...rights, 'api.*.read_key'], 'api.read_key')).toBeNull();
  });

  test('a right is handed out only by who has it, the same one for all things, or everything', () => {
    for (const [rights, right, isCovered] of [
      [['*'], '*', true],
      [['*'], 'rbac.*.create_role', true],
      [['api.*.read_key'], 'api.*.read_key', true],
      [['api.*.read_key'], 'api.api_1.read_key', true],
      [['api.api_1.read_key'], 'api.api_1.read_key', true],
      [['api.api_1.read_key'], 'api.api_2.read_key', false],
      [['api.api_1.read_key'], 'api.*.read_key', false],
      [['api.*.read_key'], 'api.*.update_key', false],
      [['api.*.read_key'], '*', false],
      [OPERATIONS.map((operation) => rightTo(operation, '*')), '*', false],
      [[], 'api.*.read_key', false],
    ] as const) {
      expect([rights, right, coversRight(rights, right)]).toEqual([rights, right, isCovered] as never);
    }
  });

  test('what is a right and what is none', () => {
    for (const right of [
      '*',
      'api.*.create_api',
      'api.api_1.verify_key',
      ...OPERATIONS.map((operation) => rightTo(operation, '*')),
    ]) {
      expect([right, isRight(right)]).toEqual([right, true]);
    }
    const wrong = [
      '',
      '**',
      'api',
      'api.*',
      'api.*.',
      'api..read_key',
      'api.*.fly',
      'key.*.read_key',
      'rbac.*.read_key',
      // About no single thing: they are held for all or not at all.
      'api.api_1.create_api',
      'rbac.role_1.create_role',
      'identity.id_1.create_identity',
      'ratelimit.ns_1.create_namespace',
      'root.rk_1.read_audit',
      'api.*.create_role',
      'api.*.Read_key',
      'constructor.*.read_key',
    ];
    for (const text of [...wrong, 'api.a b.read_key', ' api.*.read_key', 'api.*.read_key\n', 'api.*.constructor']) {
      expect([text, isRight(text)]).toEqual([text, false]);
    }
  });
});
