import { AppError, repeatable } from '../core/errors.ts';
import { DEFAULT_LIMIT_NAME, type LimitRecord } from '../core/records.ts';
import type { KeyEntry } from './keyEntry.ts';

/** What a request says of one limit. */
export interface LimitRequest {
  readonly name: string;
  readonly cost?: number;
  readonly limit?: number;
  readonly durationMs?: number;
  readonly async?: boolean;
}

/** A limit that applies to a verification. */
export interface AppliedLimit {
  readonly name: string;
  readonly limit: number;
  readonly durationMs: number;
  readonly async: boolean;
  readonly cost: number;
  /** Counts for the identity of the key, not for the key. */
  readonly ofIdentity: boolean;
  /** Not a counter of the key's own configured limits: such counters are bounded in number. */
  readonly isAdHoc: boolean;
  /** Account of a configured strict limit; null: local, or an ad-hoc one whose account is asked for by name. */
  readonly account: number | null;
}

const NONE: readonly AppliedLimit[] = [];

/** A limit that runs as it is configured: kept with the key, and not made anew for every verification. */
export function asConfigured(limit: LimitRecord): AppliedLimit {
  return configured(limit, null);
}

/** The key or identity that a limit counts for. */
export function ownerOf(entry: KeyEntry, { ofIdentity }: AppliedLimit): string {
  return ofIdentity ? (entry.identity?.id ?? entry.id) : entry.id;
}

/**
 * Which limits apply: all limits of the key, always; those named in the request with the request's own numbers. Limit and
 * duration together make an ad-hoc limit, which counts for the identity if the key has one; one of them alone replaces
 * that part of the configured limit, which counts for the key.
 */
export function appliedLimits(entry: KeyEntry, requested: readonly LimitRequest[] | null): readonly AppliedLimit[] {
  if (requested === null) return entry.limits ?? NONE;
  const applied: AppliedLimit[] = [];
  for (const limit of entry.limits ?? []) {
    const request = requested.find(({ name }) => name === limit.name) ?? null;
    applied.push(request !== null && isAdHoc(request) ? adHoc(entry, request, limit) : configured(limit, request));
  }
  for (const request of requested) {
    if (entry.limits?.some(({ name }) => name === request.name)) continue;
    if (!isAdHoc(request)) throw unknownLimit(request.name);
    applied.push(adHoc(entry, request, null));
  }
  return applied;
}

function isAdHoc(request: LimitRequest): boolean {
  return request.limit !== undefined && request.durationMs !== undefined;
}

function configured(limit: LimitRecord, request: LimitRequest | null): AppliedLimit {
  if (request?.async !== undefined) throw modeIsConfigured(limit.name);
  const durationMs = request?.durationMs ?? limit.durationMs;
  return {
    name: limit.name,
    limit: request?.limit ?? limit.limit,
    durationMs,
    async: limit.async,
    cost: request?.cost ?? 1,
    ofIdentity: false,
    // With another duration it is another counter: an ad-hoc one of the key.
    isAdHoc: durationMs !== limit.durationMs,
    account: durationMs === limit.durationMs ? limit.account : null,
  };
}

function adHoc(entry: KeyEntry, request: LimitRequest, limit: LimitRecord | null): AppliedLimit {
  if (limit !== null && request.async !== undefined) throw modeIsConfigured(limit.name);
  const isOwn = limit !== null && entry.identity === null && limit.durationMs === request.durationMs;
  return {
    name: request.name,
    limit: request.limit ?? 0,
    durationMs: request.durationMs ?? 0,
    async: limit?.async ?? request.async ?? true,
    cost: request.cost ?? 1,
    ofIdentity: entry.identity !== null,
    // The same owner, name, duration and mode: the same counter.
    isAdHoc: !isOwn,
    account: isOwn ? limit.account : null,
  };
}

function unknownLimit(name: string): AppError {
  const hint =
    name === DEFAULT_LIMIT_NAME ? 'The key has no ratelimit' : `The key has no limit named ${repeatable(name)}`;
  return new AppError('BAD_REQUEST', `${hint}; give limit and duration with it to make an ad-hoc one.`);
}

function modeIsConfigured(name: string): AppError {
  return new AppError(
    'BAD_REQUEST',
    `The limit ${repeatable(name)} is configured on the key: a request may not set its async.`,
  );
}
