import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';

import { MAX_NAME_LENGTH } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import type { PortalAction } from '../../core/portalSession.ts';
import type { PortalVisit } from '../../engine/admin/portal/portalSessions.ts';
import type { Engine } from '../../engine/engine.ts';
import { getVerifications } from '../routes/analytics.getVerifications.ts';
import type { KeyDefaults } from '../shapes/keys/keyDefaults.ts';
import { toNewKey } from '../shapes/keys/newKeyFields.ts';
import { OverlapMs } from '../shapes/keys/secretFields.ts';
import { toKeyObject } from '../shapes/keys/keyObject.ts';
import { cursorAt, strict, words } from '../shapes/schema/schemas.ts';
import { KeyId } from '../shapes/schema/idFields.ts';

const PAGE_SIZE = 50;

/** What the customers' page can ask for. The customer and the api are those of its session; nothing in a request names another. */
export interface PortalCall {
  readonly request: TSchema;
  readonly check: (body: unknown) => boolean;
  handle(engine: Engine, visit: PortalVisit, body: unknown): Promise<object>;
}

function defineCall<S extends TSchema>(
  request: S,
  handle: (engine: Engine, visit: PortalVisit, body: Static<S>) => Promise<object>,
): PortalCall {
  const compiled = Compile(request);
  return {
    request,
    check: (body) => compiled.Check(body),
    handle: (engine, visit, body) => handle(engine, visit, body as Static<S>),
  };
}

export const PORTAL_CALLS: Readonly<Record<string, PortalCall>> = {
  listKeys: defineCall(strict({ cursor: Type.Optional(cursorAt('key')) }), async (engine, visit, { cursor = null }) => {
    const { apiId } = visit.session;
    const { externalId } = visit.identity;
    const page = await engine.keys.list(visit.actor, {
      apiId,
      externalId,
      limit: PAGE_SIZE,
      after: cursor,
      search: null,
      state: null,
      planId: null,
    });
    const keys = page.keys.map((view) => shownKey(toKeyObject(view, engine.storage.workspaceId)));
    return { keys, total: page.total, ...(page.cursor === null ? {} : { cursor: page.cursor }) };
  }),

  getUsage: defineCall(strict({}), async (engine, visit) => {
    // Without a start, the days of the last 30 are counted.
    const { apiId } = visit.session;
    const { externalId } = visit.identity;
    const days = await getVerifications.handle(engine, visit.actor, { apiId, externalId, groupBy: 'day' });
    return { days };
  }),

  createKey: defineCall(strict({ name: Type.Optional(words(1, MAX_NAME_LENGTH)) }), async (engine, visit, { name }) => {
    await requireAllowed(engine, visit, 'create');
    const { apiId, keyDefaults } = visit.session;
    const defaults = keyDefaults === null ? {} : (JSON.parse(keyDefaults) as KeyDefaults);
    const own = { apiId, externalId: visit.identity.externalId, ...(name === undefined ? {} : { name }) };
    const input = toNewKey({ ...defaults, ...own }, engine.storage.ledger.nowMs());
    const { keyId, secret } = await engine.keys.create(visit.actor, input);
    return { keyId, key: secret };
  }),

  rotateKey: defineCall(strict({ keyId: KeyId, overlapMs: OverlapMs }), async (engine, visit, { keyId, overlapMs }) => {
    await requireAllowed(engine, visit, 'rotate');
    return { keyId, key: await engine.rotateKey.rotate(visit.actor, keyId, overlapMs) };
  }),

  deleteKey: defineCall(strict({ keyId: KeyId }), async (engine, visit, { keyId }) => {
    await requireAllowed(engine, visit, 'delete');
    await engine.deleteKey.delete(visit.actor, keyId, false);
    return {};
  }),
};

/** The actor of the visit sees no key of another customer or api. So nothing else has to be asked about the key. */
async function requireAllowed(engine: Engine, visit: PortalVisit, action: PortalAction): Promise<void> {
  if (!visit.session.allow.includes(action))
    throw new AppError('INSUFFICIENT_PERMISSIONS', `You may not ${action} keys here.`);
  await engine.portal.countChange(visit);
}

/** Metadata, roles and the like are the provider's notes. The customer does not see them. */
function shownKey(key: object): object {
  const shown = ['id', 'start', 'name', 'createdAt', 'expires', 'enabled', 'remaining', 'lastUsedAt'];
  return Object.fromEntries(Object.entries(key).filter(([name]) => shown.includes(name)));
}
