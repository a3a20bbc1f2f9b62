import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';

import { MAX_NAME_LENGTH } from '../../core/bounds.ts';
import type { PortalAction } from '../../core/portalSession.ts';
import type { PortalVisit } from '../../engine/admin/portal/portalSessions.ts';
import type { Engine } from '../../engine/engine.ts';
import { getVerifications } from '../routes/analytics.getVerifications.ts';
import { picked } from './picked.ts';
import type { KeyDefaults } from '../shapes/keys/keyDefaults.ts';
import { toNewKey } from '../shapes/keys/newKeyFields.ts';
import { OverlapMs } from '../shapes/keys/secretFields.ts';
import { toKeyObject } from '../shapes/keys/keyObject.ts';
import { cursorAt, strict, words } from '../../model/schema/schemas.ts';
import { KeyId } from '../shapes/schema/idFields.ts';

const PAGE_SIZE = 50;

/**
 * What the customers' page can ask for. The customer and the api are those of its session; nothing in a request names another. The actor of
 * the visit sees no key of another customer or api, so the calls ask nothing about the owner of a key.
 */
export interface PortalCall {
  /** What the link must allow; null = to look, which every link does. */
  readonly action: PortalAction | null;
  readonly request: TSchema;
  readonly check: (body: unknown) => boolean;
  handle(engine: Engine, visit: PortalVisit, body: unknown): Promise<object>;
}

function defineCall<S extends TSchema>(
  action: PortalAction | null,
  request: S,
  handle: (engine: Engine, visit: PortalVisit, body: Static<S>) => Promise<object>,
): PortalCall {
  const compiled = Compile(request);
  return {
    action,
    request,
    check: (body) => compiled.Check(body),
    handle: (engine, visit, body) => handle(engine, visit, body as Static<S>),
  };
}

export const PORTAL_CALLS: Readonly<Record<string, PortalCall>> = {
  listKeys: defineCall(
    null,
    strict({ cursor: Type.Optional(cursorAt('key')) }),
    async (engine, visit, { cursor = null }) => {
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
      const keys = page.keys.map((view) => picked(toKeyObject(view, engine.storage.workspaceId), SHOWN_OF_KEY));
      return { keys, total: page.total, ...(page.cursor === null ? {} : { cursor: page.cursor }) };
    },
  ),

  getUsage: defineCall(null, strict({}), async (engine, visit) => {
    // Without a start, the days of the last 30 are counted.
    const { apiId } = visit.session;
    const { externalId } = visit.identity;
    const days = await getVerifications.handle(engine, visit.actor, { apiId, externalId, groupBy: 'day' });
    return { days };
  }),

  createKey: defineCall(
    'create',
    strict({ name: Type.Optional(words(1, MAX_NAME_LENGTH)) }),
    async (engine, visit, { name }) => {
      const { apiId, keyDefaults } = visit.session;
      const defaults = keyDefaults === null ? {} : (JSON.parse(keyDefaults) as KeyDefaults);
      const own = { apiId, externalId: visit.identity.externalId, ...(name === undefined ? {} : { name }) };
      const input = toNewKey({ ...defaults, ...own }, engine.storage.ledger.nowMs());
      const { keyId, secret } = await engine.keys.create(visit.actor, input);
      return { keyId, key: secret };
    },
  ),

  rotateKey: defineCall(
    'rotate',
    strict({ keyId: KeyId, overlapMs: OverlapMs }),
    async (engine, visit, { keyId, overlapMs }) => {
      return { keyId, key: await engine.rotateKey.rotate(visit.actor, keyId, overlapMs) };
    },
  ),

  deleteKey: defineCall('delete', strict({ keyId: KeyId }), async (engine, visit, { keyId }) => {
    await engine.deleteKey.delete(visit.actor, keyId, false);
    return {};
  }),
};

/** Metadata, roles and the like are the provider's notes. The customer does not see them. */
const SHOWN_OF_KEY = ['id', 'start', 'name', 'createdAt', 'expires', 'enabled', 'remaining', 'lastUsedAt'];
