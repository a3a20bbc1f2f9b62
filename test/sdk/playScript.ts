import type { Keystile, KeystileError, Verdict } from '../../sdk/src/index.ts';

/** One call, or the clock that goes on. */
export type Step =
  | { readonly verify: object; readonly secret?: 'previous' }
  | { readonly update: object }
  | { readonly updateRemaining: { readonly op: string; readonly value: number | null } }
  | { readonly rotate: number }
  | { readonly identity: object }
  | { readonly deleteIdentity: { readonly keys?: 'disable' | 'delete' | 'detach' | undefined } }
  | { readonly advance: number };

export interface Script {
  readonly key: object;
  readonly steps: readonly Step[];
}

export const DAY = 86_400_000;

/** What is the same in both: everything but ids and the time of the answer. */
export function comparable(verdict: Verdict): object {
  if (verdict.code === 'UNAVAILABLE') return { code: verdict.code, cause: verdict.cause.code };
  const { requestId: _request, keyId, identity, answeredAt: _at, ...rest } = verdict;
  return { ...rest, hasKey: keyId !== undefined, identity: identity && { ...identity, id: 'id' } };
}

const failed = (error: KeystileError) => ({ error: error.code });
/** `settle`: what a service counts behind the requests is counted. */
export async function play(
  keystile: Keystile,
  { advance, settle }: { advance: (ms: number) => void; settle: () => Promise<unknown> },
  script: Script,
  externalId: string,
) {
  const { apiId } = await keystile.apis.create({ name: 'played' });
  const created = await keystile.keys.create({ ...script.key, apiId }).catch(failed);
  if ('error' in created) return [created];
  const { keyId } = created;
  let { key } = created;
  let previous = key;
  const seen: unknown[] = [];
  let days = 0;
  for (const step of script.steps) {
    if ('advance' in step) advance(step.advance);
    // A service remembers an answer for an hour or longer: a retry comes within the hour.
    if ('advance' in step && step.advance >= DAY) days++;
    if ('verify' in step) {
      const secret = step.secret === 'previous' ? previous : key;
      const { idempotencyKey, ...asked } = step.verify as { idempotencyKey?: string };
      const options = idempotencyKey === undefined ? asked : { ...asked, idempotencyKey: idempotencyKey + days };
      seen.push(comparable(await keystile.verify(secret, options)));
    }
    if ('update' in step) seen.push(await keystile.keys.update({ keyId, ...step.update }).catch(failed));
    if ('updateRemaining' in step) {
      const change = { keyId, ...step.updateRemaining } as Parameters<Keystile['keys']['updateRemaining']>[0];
      seen.push(await keystile.keys.updateRemaining(change).catch(failed));
    }
    if ('rotate' in step) {
      previous = key;
      ({ key } = await keystile.keys.rotate({ keyId, overlapMs: step.rotate }));
    }
    if ('identity' in step) {
      const answer = await keystile.identities.update({ externalId, ...step.identity }).catch(failed);
      seen.push('error' in answer ? answer : { ...answer, id: 'id' });
    }
    if ('deleteIdentity' in step) {
      await settle();
      const details = await keystile.identities.get({ externalId }).catch(failed);
      seen.push('error' in details ? details : { ...details, id: 'id' });
      seen.push(await keystile.identities.delete({ externalId, ...step.deleteIdentity }).catch(failed));
    }
  }
  return seen;
}
