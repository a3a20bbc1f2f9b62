import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { refusedBy } from './refusal.ts';
import { makeRecords, type Records } from './records.ts';

let service: TestService;
let records: Records;
/** May read keys and identities, but none that exist. */
let stranger = '';

beforeAll(async () => {
  service = await TestService.start();
  records = await makeRecords(service);
  const rights = ['api.other.read_key', 'identity.other.read_identity', 'identity.other.update_identity'];
  stranger = (await service.engine.rootKeys.create({ name: null, rights, expiresAtMs: null })).secret;
});

afterAll(async () => {
  await service.close();
});

const refused = (method: string, body: object) => refusedBy(service, `/v1/${method}`, body);
const messageOf = async (method: string, body: object) => (await refused(method, body)).message;
const pathsOf = async (method: string, body: object) => (await refused(method, body)).issues?.map(({ path }) => path);

describe('what is not there is named by what it was asked by', () => {
  test.each([
    ['keys.whoami', { key: 'unknown' }, 'key with this secret', () => ({ key: records.key })],
    ['identities.getIdentity', { externalId: 'zzz' }, 'identity with this externalId', () => pick('externalId')],
    ['identities.updateIdentity', { externalId: 'zzz' }, 'identity with this externalId', () => pick('externalId')],
  ])('%s', async (method, unknown, what, known) => {
    const message = `There is no ${what}, or this root key may not see it.`;
    expect(await messageOf(method, unknown)).toBe(message);
    const hidden = await service.call(`/v1/${method}`, known(), { rootKey: stranger });
    expect([hidden.status, hidden.body.error.message]).toEqual([404, message]);
  });

  const pick = (name: 'externalId') => ({ [name]: records[name] });
});

describe('a permission query of another form is told which forms there are', () => {
  const FORMS = 'must be a permission of 1 to 512 characters, {and: [...]}, {or: [...]} or null';
  const ask = (permissions: unknown) =>
    messageOf('keys.verifyKey', { key: records.key, authorization: { permissions } });

  test('at its top and inside', async () => {
    expect(await ask(['a'])).toBe(`authorization.permissions ${FORMS}, got a list of 1 item`);
    expect(await ask(5)).toBe(`authorization.permissions ${FORMS}, got 5`);
    expect(await ask({ or: [['a']] })).toBe(`authorization.permissions.or[0] ${FORMS}, got a list of 1 item`);
  });

  test('what is wrong in one form is told of that form', async () => {
    expect(await ask({ or: 5 })).toBe('authorization.permissions.or must be a list, got 5');
    expect(await ask({ and: 5 })).toBe('authorization.permissions.and must be a list, got 5');
  });
});

describe('half characters and NUL are named where they are the reason, and only there', () => {
  test.each([['a\0b'], ['\ud800'], ['a\udc00']])('%j', async (name) => {
    const message = (text: string) => `name must not contain NUL or lone surrogates, got ${JSON.stringify(text)}`;
    expect(await messageOf('keys.createKey', { apiId: records.apiId, name })).toBe(message(name));
    expect(await messageOf('keys.updateKey', { keyId: records.keyId, name })).toBe(message(name));
    expect(await messageOf('apis.createApi', { name: `abc${name}` })).toBe(message(`abc${name}`));
  });

  test('a text too long or of another type is told its length', async () => {
    const long = 'a'.repeat(257);
    expect(await messageOf('keys.createKey', { apiId: records.apiId, name: `${long}\0` })).toBe(
      `name must be a string of 0 to 256 characters, got "${'a'.repeat(64)}"... (258 characters)`,
    );
    expect(await messageOf('keys.updateKey', { keyId: records.keyId, name: 5 })).toBe(
      'name must be a string of 0 to 256 characters or null, got 5',
    );
  });
});

describe('a wrong time zone or address is told together with all else', () => {
  const wrong = { refill: { interval: 'daily', amount: 1, timezone: 'Mars/Olympus' }, ipAllowlist: ['10.0.0.1', 'x'] };

  test('with problems of the schema', async () => {
    const paths = ['refill.timezone', 'ipAllowlist[1]', 'name'];
    const body = { ...wrong, name: 5 };
    expect(await pathsOf('keys.createKey', { apiId: records.apiId, ...body })).toEqual(paths);
    expect(await pathsOf('keys.updateKey', { keyId: records.keyId, ...body })).toEqual(paths);
    expect(await messageOf('keys.updateKey', { keyId: records.keyId, ...body })).toBe(
      'refill.timezone must be an IANA time zone such as "Europe/Berlin", got "Mars/Olympus"; ipAllowlist[1] must be an address or a CIDR block such as 10.0.0.0/8, got "x"; name must be a string of 0 to 256 characters or null, got 5',
    );
    const inside = { refill: { ...wrong.refill, amount: 0 } };
    const identity = { externalId: 'user-9', ...inside };
    expect(await pathsOf('identities.createIdentity', identity)).toEqual(['refill.amount', 'refill.timezone']);
    expect(
      await pathsOf('migrations.createKeys', [{ apiId: records.apiId, plaintext: 'x'.repeat(16), ...inside }]),
    ).toEqual(['[0].refill.amount', '[0].refill.timezone']);
  });

  test('with problems between fields', async () => {
    const body = { apiId: records.apiId, expires: 1, ...wrong, refill: { ...wrong.refill, refillDay: 1 } };
    expect(await pathsOf('keys.createKey', body)).toEqual([
      'expires',
      'refill',
      'refill.refillDay',
      'refill.timezone',
      'ipAllowlist[1]',
    ]);
    const { refill } = body;
    expect(await pathsOf('identities.createIdentity', { externalId: 'user-9', refill })).toEqual([
      'refill',
      'refill.refillDay',
      'refill.timezone',
    ]);
  });
});

test('every call that a quota can refuse has a 412 in /openapi.json', async () => {
  const { body } = await service.call('/openapi.json', undefined, { method: 'GET' });
  const methods = ['apis.createApi', 'keys.createKey', 'keys.restoreKey', 'migrations.createKeys'];
  for (const method of methods) {
    const { responses } = body.paths[`/v1/${method}`].post;
    expect([method, Object.keys(responses)]).toEqual([method, expect.arrayContaining(['412'])]);
    const name = responses['412'].$ref.replace('#/components/responses/', '');
    expect(body.components.responses[name].description).toContain('a maximum or quota is reached');
  }
});
