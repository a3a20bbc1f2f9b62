import type { Engine } from '../../../../src/engine/engine.ts';
import type { EventType } from '../../../../src/core/events.ts';
import type { Verdict } from '../../../../src/engine/verify/verdict.ts';
import type { VerifyRequest } from '../../../../src/engine/verify/request.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { QUESTION } from '../../../support/analytics.ts';

export const ACTOR = { id: 'rk_1', rights: ['*'], untilMs: null, origin: null, requestId: null };
export const DAY_MS = 86_400_000;

/** The data of all events of some types, oldest first. */
export async function toldOf(storage: Storage, ...types: EventType[]): Promise<Record<string, unknown>[]> {
  const events = await storage.events.list({ after: 0, types, limit: 1000 });
  return events.map(({ type, data }) => ({ type, ...(JSON.parse(data) as object) }));
}

export interface MadeKey {
  readonly keyId: string;
  readonly apiId: string;
  readonly secret: string;
}

export async function makeKey(engine: Engine, fields: object): Promise<MadeKey> {
  const { id: apiId } = await engine.apis.create(ACTOR, 'an api');
  return { apiId, ...(await engine.keys.create(ACTOR, { apiId, prefix: null, byteLength: null, ...fields })) };
}

export async function verify(engine: Engine, secret: string, asked: Partial<VerifyRequest> = {}): Promise<Verdict> {
  return engine.verifier.verify({ ...QUESTION, secretDigest: secret, ...asked });
}
