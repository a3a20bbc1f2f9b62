import { describe, expect, test } from 'bun:test';

import { API_ACTIONS, holdsRight, holdsRightSomewhere, isRight } from '../../src/core/rights.ts';

describe('rights', () => {
  test('`*` holds every action on every api', () => {
    for (const action of API_ACTIONS) {
      expect(holdsRight(['*'], action, 'api_1')).toBe(true);
      expect(holdsRight(['*'], action, '*')).toBe(true);
      expect(holdsRightSomewhere(['*'], action)).toBe(true);
    }
  });

  test('a right on one api is none on another, nor on all', () => {
    const rights = ['api.api_1.read_key'];
    expect(holdsRight(rights, 'read_key', 'api_1')).toBe(true);
    expect(holdsRight(rights, 'read_key', 'api_2')).toBe(false);
    expect(holdsRight(rights, 'read_key', '*')).toBe(false);
    expect(holdsRight(rights, 'read_key', '')).toBe(false);
  });

  test('a right to one action is none to another, on no api', () => {
    for (const held of API_ACTIONS) {
      for (const asked of API_ACTIONS) {
        expect(holdsRight([`api.*.${held}`], asked, 'api_1')).toBe(held === asked);
        expect(holdsRight([`api.api_1.${held}`], asked, 'api_1')).toBe(held === asked);
        expect(holdsRightSomewhere([`api.api_1.${held}`], asked)).toBe(held === asked);
      }
    }
  });

  test('no rights hold nothing', () => {
    for (const action of API_ACTIONS) {
      expect(holdsRight([], action, 'api_1')).toBe(false);
      expect(holdsRightSomewhere([], action)).toBe(false);
    }
  });

  test('an id that is spelt like a right opens nothing', () => {
    expect(holdsRight(['api.api_1.read_key'], 'read_key', 'api_1.read_key.x')).toBe(false);
    expect(holdsRightSomewhere(['api.api_1.read_key.delete_key'], 'delete_key')).toBe(false);
  });

  test('what is a right and what is none', () => {
    for (const right of ['*', 'api.*.create_api', 'api.api_1.verify_key', ...API_ACTIONS.map((a) => `api.*.${a}`)]) {
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
      'api.*.Read_key',
    ];
    for (const text of [...wrong, 'api.a b.read_key', ' api.*.read_key', 'api.*.read_key\n', 'api.*.constructor']) {
      expect([text, isRight(text)]).toEqual([text, false]);
    }
  });
});
