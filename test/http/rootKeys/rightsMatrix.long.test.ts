import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { type Answer, TestService } from '../../support/service.ts';
import { KINDS, type Outcome, outcomeOf, type Row, ROWS, type Seen } from './rightsRows.ts';
import { storedIn } from '../errors/stored.ts';
import { ABSENT, makeRecords, type Records, withoutIds } from '../errors/records.ts';

/**
 * Every route against every kind of root key. What a route needs is decided here, by hand: a new route, or one that declares
 * other rights, fails until it stands in this table; one that does not check what it declares fails in the matrix below.
 */
const DECIDED: Readonly<Record<string, string>> = {
  'apis.createApi': 'api.*.create_api',
  'apis.getApi': 'api.<apiId>.read_api',
  'apis.listApis': 'api.<apiId>.read_api',
  'apis.listKeys': 'api.<apiId>.read_key & api.<apiId>.read_api, planId: plan.<planId>.read_plan',
  'apis.updateApi': 'api.<apiId>.update_api',
  'apis.deleteApi': 'api.<apiId>.delete_api',
  'apis.deleteKeys': 'api.<apiId>.delete_key',
  'keys.createKey': 'api.<apiId>.create_key, owner, roles, permissions',
  'keys.createKeys': 'api.<apiId>.create_key, owner, roles, permissions',
  'keys.getKey': 'api.<apiId>.read_key',
  'keys.whoami': 'api.<apiId>.read_key',
  'keys.updateKey': 'api.<apiId>.update_key, owner, roles, permissions',
  'keys.updateRemaining': 'api.<apiId>.update_key',
  'keys.deleteKey': 'api.<apiId>.delete_key',
  'keys.restoreKey': 'api.<apiId>.update_key',
  'keys.rotateKey': 'api.<apiId>.create_key & api.<apiId>.update_key',
  'keys.addPermissions': 'api.<apiId>.update_key & rbac.*.add_permission_to_key',
  'keys.setPermissions': 'api.<apiId>.update_key & rbac.*.add_permission_to_key & rbac.*.remove_permission_from_key',
  'keys.removePermissions': 'api.<apiId>.update_key & rbac.*.remove_permission_from_key',
  'keys.addRoles': 'api.<apiId>.update_key & rbac.*.add_role_to_key',
  'keys.setRoles': 'api.<apiId>.update_key & rbac.*.add_role_to_key & rbac.*.remove_role_from_key',
  'keys.removeRoles': 'api.<apiId>.update_key & rbac.*.remove_role_from_key',
  'keys.getVerifications': 'api.<apiId>.read_key',
  'analytics.getVerifications': 'api.<apiId>.read_analytics | api.<apiId>.read_api',
  'migrations.createKeys': 'api.<apiId>.create_key, owner, roles, permissions',
  'migrations.enqueueKeys': 'api.<apiId>.create_key, owner, roles, permissions',
  'migrations.getProgress': 'api.<apiId>.create_key',
  'identities.createIdentity': 'identity.*.create_identity',
  'identities.getIdentity': 'identity.<identityId>.read_identity',
  'identities.listIdentities': 'identity.*.read_identity',
  'identities.updateIdentity': 'identity.<identityId>.update_identity',
  'identities.deleteIdentity': 'identity.<identityId>.delete_identity, keys: api.*.update_key & api.*.delete_key',
  'plans.createPlan': 'plan.*.create_plan, roles, permissions',
  'plans.getPlan': 'plan.<planId>.read_plan',
  'plans.listPlans': 'plan.*.read_plan',
  'plans.updatePlan': 'plan.<planId>.update_plan, roles, permissions',
  'plans.deletePlan': 'plan.<planId>.delete_plan',
  'credits.grant': 'identity.<identityId>.grant_credits, instead keyId: api.<apiId>.grant_credits',
  'credits.adjust': 'identity.<identityId>.adjust_credits, instead keyId: api.<apiId>.adjust_credits',
  'plans.assign':
    'plan.<planId>.assign_plan, keyId: api.<apiId>.update_key, identityId|externalId: identity.<identityId>.update_identity, at least api.<apiId>.update_key | identity.<identityId>.update_identity',
  'permissions.createPermission': 'rbac.*.create_permission',
  'permissions.getPermission': 'rbac.*.read_permission',
  'permissions.listPermissions': 'rbac.*.read_permission',
  'permissions.deletePermission': 'rbac.*.delete_permission',
  'permissions.createRole': 'rbac.*.create_role',
  'permissions.getRole': 'rbac.*.read_role',
  'permissions.listRoles': 'rbac.*.read_role',
  'permissions.deleteRole': 'rbac.*.delete_role',
  'permissions.setRolePermissions': 'rbac.*.add_permission_to_role & rbac.*.remove_permission_from_role',
  'reservations.settle': 'api.<apiId>.verify_key',
  'reservations.release': 'api.<apiId>.verify_key',
  'reservations.get': 'api.<apiId>.verify_key',
  'reservations.list': 'api.<apiId>.verify_key',
  'ratelimits.limit': 'ratelimit.<namespaceId>.limit & ratelimit.*.create_namespace',
  'ratelimits.multiLimit': 'ratelimit.<namespaceId>.limit & ratelimit.*.create_namespace',
  'ratelimits.setOverride': 'ratelimit.<namespaceId>.set_override',
  'ratelimits.getOverride': 'ratelimit.<namespaceId>.read_override',
  'ratelimits.listOverrides': 'ratelimit.<namespaceId>.read_override',
  'ratelimits.deleteOverride': 'ratelimit.<namespaceId>.delete_override',
  'rootKeys.createRootKey': 'root.*.create_root_key',
  'rootKeys.listRootKeys': 'root.*.read_root_key',
  'rootKeys.rotateRootKey': 'root.*.create_root_key',
  'rootKeys.revokeRootKey': 'root.*.revoke_root_key',
  'portal.createSession': 'identity.<identityId>.read_identity & api.<apiId>.read_key & api.<apiId>.read_api',
  'portal.endSessions': 'identity.<identityId>.update_identity',
  'sessions.listSessions': 'root.*.read_root_key',
  'sessions.endSession': 'root.*.revoke_root_key',
  'service.getStatus': 'service.*.read_status',
  'audit.listEntries': 'root.*.read_audit',
  'events.listEvents': 'event.*.read_event',
  'usage.getStatement':
    'identity.<identityId>.read_usage, instead keyId: api.<apiId>.read_usage, instead planId: plan.<planId>.read_usage, instead all: api.*.read_usage & identity.*.read_usage',
  'webhooks.createWebhook':
    'webhook.*.create_webhook & event.*.read_event, instead apis: webhook.*.create_webhook & event.<apiId>.read_event',
  'webhooks.getWebhook': 'webhook.<webhookId>.read_webhook',
  'webhooks.listWebhooks': 'webhook.*.read_webhook',
  'webhooks.updateWebhook':
    'webhook.<webhookId>.update_webhook, url|events|enabled: event.*.read_event, apis: event.<apiId>.read_event',
  'webhooks.deleteWebhook': 'webhook.<webhookId>.delete_webhook',
  'webhooks.rotateSecret': 'webhook.<webhookId>.update_webhook & event.*.read_event',
  'webhooks.listDeliveries': 'webhook.<webhookId>.read_webhook',
  'webhooks.redeliver': 'webhook.<webhookId>.update_webhook & event.*.read_event',
  'webhooks.sendTest': 'webhook.<webhookId>.update_webhook',
};

/** Routes that declare field rights, by the words of the table above. */
const OWNER = 'externalId|ownerId: identity.*.create_identity unless';
const FIELD_WORDS: Readonly<Record<string, string>> = {
  [`${OWNER} api.*.create_key`]: 'owner',
  [`${OWNER} api.*.update_key`]: 'owner',
  'roles: rbac.*.add_role_to_key': 'roles',
  'roles: rbac.*.add_role_to_key & rbac.*.remove_role_from_key': 'roles',
  'permissions: rbac.*.add_permission_to_key': 'permissions',
  'permissions: rbac.*.add_permission_to_key & rbac.*.remove_permission_from_key': 'permissions',
};

test('what every route needs is decided', () => {
  const declared = ROUTES.map((route) => {
    const { path, rights, isOneRightEnough, leastRights = [], fieldRights = [], insteadRights = [] } = route;
    const fields = fieldRights.map(({ fields: names, rights: more, unless }) => {
      const text = `${names.join('|')}: ${more.join(' & ')}${unless === undefined ? '' : ` unless ${unless}`}`;
      return FIELD_WORDS[text] ?? text;
    });
    const instead = insteadRights.map((each) => `instead ${each.fields.join('|')}: ${each.rights.join(' & ')}`);
    const least = leastRights.length === 0 ? [] : [`at least ${leastRights.join(' | ')}`];
    const all = [rights.join(isOneRightEnough ? ' | ' : ' & '), ...fields, ...instead, ...least];
    return [path.replace('/v1/', ''), all.join(', ')] as const;
  });
  expect(Object.fromEntries(declared)).toEqual(DECIDED);
});

let service: TestService;
let mine: Records;
let other: Records;
/** Secrets that are no root key, or not any more. */
const refused: Record<string, string | null> = { none: null, unknown: 'root_7Kq2YvWc9XnTbR4sLmZp6D3fGh8J' };

/** Root keys of every kind, with their rights. */
const kinds: { kind: string; rights: readonly string[]; secret: string }[] = [];

/** The key has no owner: to name the one that it has would give it nothing. */
async function makeOwnable(): Promise<Records> {
  const records = await makeRecords(service);
  await service.ok('/v1/keys.updateKey', { keyId: records.keyId, externalId: null });
  return records;
}

/** Routes after which the records that they name are not there any more. */
const isEnding = ({ path }: Row): boolean => /\.(delete|restore|revoke|rotate|end)/.test(path);

const make = async (rights: readonly string[], expiresAtMs: number | null = null) =>
  service.engine.rootKeys.create({ name: null, rights, expiresAtMs });

beforeAll(async () => {
  service = await TestService.start({ settings: { KEYSTILE_VERIFY_AUTH: 'required' } });
  [mine, other] = [await makeOwnable(), await makeOwnable()];
  for (const [kind, rightsOf] of Object.entries(KINDS)) {
    const rights = rightsOf(mine, other);
    kinds.push({ kind, rights, secret: (await make(rights)).secret });
  }
  const revoked = await make(['*']);
  await service.engine.rootKeys.revoke(revoked.rootKey.id);
  const rotated = await make(['*']);
  await service.ok('/v1/rootKeys.rotateRootKey', { rootKeyId: rotated.rootKey.id, overlapMs: 1 });
  const expired = await make(['*'], service.clock.nowMs() + 1);
  service.clock.advance(1);
  const { key: rotatedOut, keyId } = await service.createKey({ apiId: mine.apiId });
  await service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 3_600_000 });
  Object.assign(refused, {
    revoked: revoked.secret,
    'rotated out': rotated.secret,
    expired: expired.secret,
    'an API key': mine.key,
    'the former secret of an API key': rotatedOut,
  });
});

afterAll(async () => {
  await service.close();
});

const ask = (row: Row, records: Records, rootKey: string | null): Promise<Answer> =>
  service.call(row.path, row.request(records), { rootKey });

/** Verdicts of one key and of a list are read alike. */
function outcome(row: Row, { status, body }: Answer): Seen {
  if (status !== row.status) return status;
  const [verdict = body] = (body?.results ?? []) as { code?: string }[];
  return row.needs.isVerdict && verdict.code === 'NOT_FOUND' ? 'unknown' : 'done';
}

/** The same about what is not there; with a right on this api only what belongs to no api is not there. */
const absentFor = (got: Seen, row: Row, rights: readonly string[]): Records => {
  const isOfField = got === 403 && outcomeOf({ ...row, needs: { ...row.needs, fields: [] } }, rights, mine) === 'done';
  const { externalId, role, permission } = ABSENT;
  return isOfField ? { ...mine, externalId, role, permission } : ABSENT;
};

describe.each(ROWS.map((row) => [row.name, row] as const))('%s', (_name, row) => {
  test('is refused to whoever has no root key, in the same words whatever is asked', async () => {
    const before = storedIn(service.folder);
    const texts: Record<string, string> = {};
    for (const [kind, secret] of Object.entries(refused)) {
      const answers = [await ask(row, mine, secret), await ask(row, ABSENT, secret)];
      expect([kind, ...answers.map(({ status }) => status)]).toEqual([kind, 401, 401]);
      const [about, absent] = answers.map(({ text }) => withoutIds(text, ABSENT));
      expect(about).toBe(absent as string);
      texts[kind] = about ?? '';
    }
    for (const kind of ['an API key', 'the former secret of an API key', 'rotated out']) {
      expect([kind, texts[kind]]).toEqual([kind, texts['unknown']]);
    }
    expect(storedIn(service.folder)).toEqual(before);
  });

  test('is refused to every kind of root key without the rights, as if there was nothing', async () => {
    const asked: [string, Outcome, Seen][] = [];
    const before = storedIn(service.folder);
    for (const { kind, rights, secret } of kinds) {
      const expected = outcomeOf(row, rights, mine);
      if (expected === 'done') continue;
      const answer = await ask(row, mine, secret);
      const got = outcome(row, answer);
      asked.push([kind, expected, got]);
      if (got === 403)
        expect(answer.body.error.message).toMatch(/^This root key lacks the right [a-z]+\.\*\.[a-z_]+\.$/);
      const absent = absentFor(got, row, rights);
      const same = await ask(row, absent, secret);
      expect([kind, withoutIds(answer.text, mine)]).toEqual([kind, withoutIds(same.text, absent)]);
    }
    expect(storedIn(service.folder)).toEqual(before);
    expect(asked.map(([kind, , got]) => [kind, got])).toEqual(asked.map(([kind, expected]) => [kind, expected]));
    // Nobody is left out: a route that all may use would be one that checks nothing.
    expect(asked.length).toBeGreaterThan(0);
  });

  test('is done for every kind of root key with the rights', async () => {
    let done = 0;
    let records = await makeOwnable();
    for (const [kind, rightsOf] of Object.entries(KINDS)) {
      if (outcomeOf(row, rightsOf(mine, other), mine) !== 'done') continue;
      if (isEnding(row) && done > 0) records = await makeOwnable();
      const { secret } = await make(rightsOf(records, other));
      const answer = await ask(row, records, secret);
      expect([kind, outcome(row, answer), answer.body?.error]).toEqual([kind, 'done', undefined]);
      done++;
    }
    expect(done).toBeGreaterThan(0);
  });
});
