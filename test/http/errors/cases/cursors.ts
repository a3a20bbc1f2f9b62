import { type Case, post, type CaseSetup } from './case.ts';

const ID = '1Jm8ZtYh4mRr6GjK8uTx3S';

/** Each with the fields that it needs, and an id of another kind. */
const LISTINGS: readonly (readonly [
  method: string,
  prefix: string,
  fieldsOf: (setup: CaseSetup) => object,
  other: 'apiId' | 'keyId',
])[] = [
  ['apis.listKeys', 'key', ({ apiId }) => ({ apiId }), 'apiId'],
  ['apis.listApis', 'api', () => ({}), 'keyId'],
  ['identities.listIdentities', 'id', () => ({}), 'keyId'],
  ['ratelimits.listOverrides', 'ovr', ({ namespaceId }) => ({ namespaceId }), 'keyId'],
];

/** A cursor that no page ends with. */
const OF_LISTINGS = LISTINGS.flatMap(([method, prefix, fieldsOf, other]): Case[] => [
  ...['zzz', prefix, `${prefix}_`, `${prefix}_zzz`, `${prefix}_${ID}x`, ` ${prefix}_${ID}`, `rk_${ID}`].map(
    (cursor): Case => [`${method} after "${cursor}"`, (setup) => post(method, { ...fieldsOf(setup), cursor })],
  ),
  [`${method} after an ${other}`, (setup) => post(method, { ...fieldsOf(setup), cursor: setup[other] })],
]);

const OF_ENTRYS = [{ cursor: 'x' }, { start: 5, end: 5 }, { start: 6, end: 5 }, { start: 6, end: 5, cursor: 'zzz' }];

const OF_EVENTS = [{ cursor: 'x' }, { cursor: '9'.repeat(17) }, { types: 'key.made' }, { types: [] }];

export const CURSORS: readonly Case[] = [
  ...OF_LISTINGS,
  ...OF_EVENTS.map((query): Case => [
    `events.listEvents ${JSON.stringify(query)}`,
    () => post('events.listEvents', query),
  ]),
  ...OF_ENTRYS.map((query): Case => [
    `audit.listEntries ${JSON.stringify(query)}`,
    () => post('audit.listEntries', query),
  ]),
];
