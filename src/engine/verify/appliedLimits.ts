import { AppError, repeatable } from '../../core/errors.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import type { AppliedLimit } from '../cache/appliedLimit.ts';
import type { KeyEntry } from '../cache/keyEntry.ts';
import type { LimitRequest, VerifyRequest } from './request.ts';

const NONE: readonly AppliedLimit[] = [];

/** The limits that apply to this request. One that is explained and takes no credits leaves limits alone that it does not name. */
export function limitsOf(entry: KeyEntry, { limits, isExplained, creditCost }: VerifyRequest): readonly AppliedLimit[] {
  const applied = appliedLimits(entry, limits);
  if (!isExplained || creditCost > 0) return applied;
  return applied.map((limit) => (limits?.some(({ name }) => name === limit.name) ? limit : { ...limit, cost: 0 }));
}

/** The key or identity that a limit counts for. */
export function ownerOf(entry: KeyEntry, { ofIdentity }: AppliedLimit): string {
  return ofIdentity ? (entry.identity?.id ?? entry.id) : entry.id;
}

/**
 * The limits that apply: all limits of the key, those of its identity that apply to every verification, and those that the request
 * names. The cost of a request counts in each limit of that name. Its numbers replace those of the key's limit, and those of the identity's
 * limit only if the key has none of that name: what the keys of an identity share is not raised by a request about one of them. A limit of
 * the identity that only applies when it is named gives way to a limit of the key of the same name. A request with limit and duration
 * makes an ad-hoc limit, which counts for the identity if the key has one.
 */
function appliedLimits(entry: KeyEntry, requested: readonly LimitRequest[] | null): readonly AppliedLimit[] {
  const always = entry.alwaysApplied ?? NONE;
  if (requested === null) return always;
  const applied: AppliedLimit[] = [];
  for (const limit of always) {
    const request = requested.find(({ name }) => name === limit.name) ?? null;
    const isDouble = always.some((other) => other.name === limit.name && other !== limit);
    if (request === null) applied.push(limit);
    else if (!isDouble) applied.push(asRequested(entry, request, limit));
    else applied.push(limit.ofIdentity ? { ...limit, cost: request.cost ?? 1 } : withNumbers(limit, request));
  }
  for (const request of requested) {
    if (always.some(({ name }) => name === request.name)) continue;
    applied.push(asRequested(entry, request, sharedLimit(entry, request.name)));
  }
  return applied;
}

function asRequested(entry: KeyEntry, request: LimitRequest, limit: AppliedLimit | null): AppliedLimit {
  if (limit !== null && request.async !== undefined) throw modeIsConfigured(limit.name);
  if (request.limit !== undefined && request.durationMs !== undefined) return adHoc(entry, request, limit);
  if (limit === null) throw unknownLimit(request.name);
  return withNumbers(limit, request);
}

/** A configured limit with the numbers of the request. */
function withNumbers(limit: AppliedLimit, request: LimitRequest): AppliedLimit {
  if (request.async !== undefined) throw modeIsConfigured(limit.name);
  const durationMs = request.durationMs ?? limit.durationMs;
  const isSame = durationMs === limit.durationMs;
  return {
    ...limit,
    limit: request.limit ?? limit.limit,
    durationMs,
    cost: request.cost ?? 1,
    // Another duration is another counter: an ad-hoc one.
    isAdHoc: !isSame,
    account: isSame ? limit.account : null,
    notify: isSame && limit.notify,
    wire: null,
  };
}

function adHoc(entry: KeyEntry, request: LimitRequest, limit: AppliedLimit | null): AppliedLimit {
  const async = limit?.async ?? request.async ?? true;
  const ofIdentity = entry.identity !== null;
  // With the owner, name, duration and mode of a configured limit, it uses the counter of that limit.
  const own = sharedLimit(entry, request.name);
  const isOwn = own !== null && own.durationMs === request.durationMs && own.async === async;
  return {
    name: request.name,
    limit: request.limit ?? 0,
    durationMs: request.durationMs ?? 0,
    async,
    cost: request.cost ?? 1,
    ofIdentity,
    isAdHoc: !isOwn,
    account: isOwn ? own.account : null,
    notify: isOwn && own.notify,
    wire: null,
  };
}

/** The limit of this name that the keys of an identity share; without an identity, that of the key or of its plan. */
function sharedLimit({ identity, limits }: KeyEntry, name: string): AppliedLimit | null {
  return (identity === null ? limits : identity.limits)?.find((limit) => limit.name === name) ?? null;
}

function unknownLimit(name: string): AppError {
  const hint =
    name === DEFAULT_LIMIT_NAME
      ? 'The key has no ratelimit'
      : `Neither the key nor its identity has a limit named ${repeatable(name)}`;
  return new AppError('BAD_REQUEST', `${hint}. To use an ad-hoc limit, send limit and duration with it.`);
}

function modeIsConfigured(name: string): AppError {
  return new AppError(
    'BAD_REQUEST',
    `The limit ${repeatable(name)} is configured, so a request cannot set its async. Leave async out.`,
  );
}
