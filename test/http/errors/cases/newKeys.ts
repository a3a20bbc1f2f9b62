import type { CallOptions } from '../../../support/service.ts';
import { rootKeyWith } from '../refusal.ts';
import { type Case, type CaseSetup, post } from './case.ts';

const GOOD = { name: 'good', externalId: 'owner-of-many', roles: ['new-role'], remaining: 5 };

/** Keys that could be created, around one that cannot: nothing is stored of any. */
const among =
  (bad: object) =>
  ({ apiId }: CaseSetup) =>
    post('keys.createKeys', { apiId, keys: [GOOD, GOOD, bad, GOOD] });

const many = (count: number, fields: object) => Array.from({ length: count }, () => fields);

/** `create_key` in the api of the setup, and these rights. */
const rootKeyOf = async ({ service, apiId }: CaseSetup, ...rights: string[]): Promise<CallOptions> => ({
  rootKey: await rootKeyWith(service, `api.${apiId}.create_key`, ...rights),
});

export const CREATE_KEYS: readonly Case[] = [
  ['no key', ({ apiId }) => post('keys.createKeys', { apiId, keys: [] })],
  ['1001 keys', ({ apiId }) => post('keys.createKeys', { apiId, keys: many(1001, {}) })],
  ['keys without an api', () => post('keys.createKeys', { keys: [{}, {}] })],
  ['an unknown api of one key', among({ apiId: 'api_unknown' })],
  ['a field with a wrong value', among({ remaining: -1 })],
  ['an unknown field', among({ remainning: 1 })],
  ['a refill without a counter', among({ refill: { interval: 'daily', amount: 1 } })],
  ['expires in the past', among({ expires: 1 })],
  ['two wrong fields of one key', among({ meta: { n: 1e300 }, ipAllowlist: ['here'] })],
  ['a recoverable key', among({ recoverable: true })],
  [
    'more roles, permissions, limits and addresses than a call may have',
    ({ apiId }) => post('keys.createKeys', { apiId, keys: many(101, { ipAllowlist: many(100, {}).map(() => '::1') }) }),
  ],
  [
    'an api that the root key may not see',
    async (setup) => {
      const [apiId, keys] = [setup.apiId, [{}, { apiId: await setup.service.createApi() }]];
      return post('keys.createKeys', { apiId, keys }, await rootKeyOf(setup));
    },
  ],
  ...(
    [
      ['roles', { roles: ['new-role'] }],
      ['permissions', { permissions: ['new.permission'] }],
      ['an owner', { externalId: 'new-owner' }],
    ] as const
  ).map(([what, fields]): Case => [
    `${what} that the root key may not give`,
    async (setup) =>
      post('keys.createKeys', { apiId: setup.apiId, keys: [{}, fields, fields] }, await rootKeyOf(setup)),
  ]),
  [
    'a role that the root key may give and not create',
    async (setup) => {
      const options = await rootKeyOf(setup, 'rbac.*.add_role_to_key');
      return post('keys.createKeys', { apiId: setup.apiId, keys: [{}, { roles: ['new-role'] }] }, options);
    },
  ],
  [
    'more keys than an identity may have',
    async ({ service, apiId }) => {
      const externalId = 'has-three-keys-at-most';
      await service.ok('/v1/identities.createIdentity', { externalId, maxKeys: 3 });
      await service.createKey({ apiId, externalId });
      const own = { externalId };
      return post('keys.createKeys', { apiId, keys: [own, {}, own, GOOD, own, own] });
    },
  ],
];
