import type { TestService } from '../../support/service.ts';

/** Calls about the overrides of a test's own namespace. */
export function overrideCalls(
  at: () => { readonly service: TestService; readonly namespace: string; readonly namespaceId: string },
) {
  const makeNamespace = (name: string) =>
    at().service.ok('/v1/ratelimits.limit', {
      namespace: name,
      identifier: 'nobody',
      limit: 5,
      duration: 60_000,
      cost: 0,
    });

  const set = async (identifier: string, fields: Record<string, unknown> = {}): Promise<string> => {
    const body = { namespaceName: at().namespace, identifier, limit: 50, duration: 60_000, ...fields };
    return (await at().service.ok('/v1/ratelimits.setOverride', body)).overrideId as string;
  };

  const get = (identifier: string) =>
    at().service.call('/v1/ratelimits.getOverride', { namespaceName: at().namespace, identifier });

  const remove = (identifier: string) =>
    at().service.ok('/v1/ratelimits.deleteOverride', { namespaceName: at().namespace, identifier });

  const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));

  /** From the making of the namespace on. */
  const entries = async () => {
    const query = { limit: 100, before: null, actor: null, action: null, target: null, fromMs: null, untilMs: null };
    const all = (await at().service.storage.records.listEntries(query)).entries.toReversed();
    return all
      .slice(all.findIndex(({ target }) => target === at().namespaceId))
      .filter(({ action }) => /^(override|namespace)\./.test(action))
      .map(({ action, target, before, after }) => [action, target, parsed(before), parsed(after)]);
  };

  return { makeNamespace, set, get, remove, entries };
}
