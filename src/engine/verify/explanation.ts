import type { ExplainedCheck, ExplainedCounter, Verdict } from './verdict.ts';
import { showAddress } from '../../core/address.ts';
import { MAX_DATE_MS } from '../../core/statement.ts';
import type { KeyEntry } from '../cache/entries.ts';
import { type CreditCounter, OWN_CREDITS, SHARED_CREDITS } from './charges.ts';
import { checkOfCharge, creditsLeft, type LimitReport, PIPELINE, type RecordCheck } from './pipeline.ts';
import type { VerifyRequest } from './request.ts';

type Result = 'passed' | 'refused';

const SHOWN_PERMISSIONS = 20;

/** What each row of the pipeline found, in its order. The verdict has been decided; this only tells of it. */
export function explain(request: VerifyRequest, verdict: Verdict): readonly ExplainedCheck[] {
  const refusing = refusingCheck(request, verdict);
  let isReached = true;
  return PIPELINE.map((row) => {
    if (!isReached) return { check: row.name, result: 'not reached', text: 'A check before this one refused.' };
    isReached = row !== refusing;
    const result = isReached ? 'passed' : 'refused';
    const counters = verdict.key === null ? [] : countersOf(row, verdict);
    const text = 'refuses' in row ? recordText(row, result, request, verdict) : countedText(row.name, result, counters);
    return { check: row.name, result, text, ...(counters.length === 0 ? {} : { counters }) };
  });
}

/** null: none. */
function refusingCheck(request: VerifyRequest, verdict: Verdict): (typeof PIPELINE)[number] | null {
  const { code, key, limits, ledger } = verdict;
  if (code === 'VALID') return null;
  if (ledger !== undefined) {
    const { counting, outcome } = ledger;
    return outcome.status === 'refused' ? checkOfCharge(counting, outcome.by) : null;
  }
  if (limits !== null) return PIPELINE.find((row) => 'allows' in row) ?? null;
  // An unknown key is not told from one that is hidden: the first row refuses both.
  return PIPELINE.find((row) => 'refuses' in row && row.refuses(key, request, verdict.atMs)) ?? null;
}

function countersOf(row: (typeof PIPELINE)[number], verdict: Verdict): ExplainedCounter[] {
  if ('refuses' in row) return [];
  if ('allows' in row) return limitCounters(verdict, true);
  if (row.counts === OWN_CREDITS) return creditCounters(OWN_CREDITS, 'key', verdict);
  if (row.counts === SHARED_CREDITS) return creditCounters(SHARED_CREDITS, 'identity', verdict);
  return limitCounters(verdict, false);
}

function limitCounters({ code, limits, replayed }: Verdict, async: boolean): ExplainedCounter[] {
  const isTaken = code === 'VALID' && !replayed;
  const counterOf = ({ limit, remaining, resetAtMs }: LimitReport): ExplainedCounter => ({
    name: limit.name,
    of: limit.ofIdentity ? 'identity' : 'key',
    taken: isTaken ? limit.cost : 0,
    remaining,
    resetAtMs,
  });
  return (limits ?? []).filter(({ limit }) => limit.async === async).map(counterOf);
}

/** None where the ledger was not asked: then a check before refused. */
function creditCounters(counter: CreditCounter, of: 'key' | 'identity', verdict: Verdict): ExplainedCounter[] {
  const { key, ledger, creditsTaken } = verdict;
  if (key === null || ledger === undefined || counter.credits(key) === null) return [];
  const remaining = creditsLeft(counter, ledger.counting, ledger.outcome.charges);
  return [{ name: 'credits', of, taken: creditsTaken, remaining, resetAtMs: null }];
}

function countedText(name: string, result: Result, counters: readonly ExplainedCounter[]): string {
  if (counters.length === 0) return `There are no ${name}.`;
  // Programs know the check by its name; people call an identity a customer.
  const words = name.replace('identity', 'customer');
  // A verification that takes nothing is still valid.
  if (result === 'passed' && counters.some(({ taken, remaining }) => taken === 0 && remaining === 0))
    return `Nothing is left of the ${words}: a verification that takes something is refused.`;
  return result === 'refused' ? `Not enough is left of the ${words}.` : `Enough was left of the ${words}.`;
}

/** Words for the checks that read the record. `key` is null only where the first check refuses. */
function recordText({ name }: RecordCheck, result: Result, request: VerifyRequest, verdict: Verdict): string {
  const { key } = verdict;
  if (key === null) return 'No key has this secret, the secret was replaced, or the root key may not see the key.';
  return RECORD_TEXTS[name](key, request, result);
}

const RECORD_TEXTS: Readonly<
  Record<RecordCheck['name'], (key: KeyEntry, request: VerifyRequest, result: Result) => string>
> = {
  key: ({ id }) => `The secret is that of ${id}.`,
  'right to see it': ({ apiId }) => `The root key may see keys of ${apiId}.`,
  'secret in use': ({ extras }) =>
    extras === null || extras.secretUntilMs === Infinity
      ? 'The secret was not replaced.'
      : `The secret was replaced, and is accepted until ${timeOf(extras.secretUntilMs)}.`,
  api: ({ apiId: own }, { apiId }) =>
    apiId === null
      ? `The request names no api; the key belongs to ${own}.`
      : own === apiId
        ? `The key belongs to ${own}, as asked for.`
        : `The key belongs to ${own}, not to ${apiId}.`,
  enabled: ({ enabled, identity, plan }) =>
    !enabled
      ? 'The key is disabled.'
      : identity?.enabled === false
        ? `Its customer ${identity.externalId} is disabled.`
        : plan !== null && plan.record === null
          ? 'Its plan is missing.'
          : 'The key is enabled.',
  expiry: ({ expiresAtMs }, _request, result) =>
    expiresAtMs === Infinity
      ? 'The key does not expire.'
      : `The key ${result === 'refused' ? 'expired' : 'expires'} at ${timeOf(expiresAtMs)}.`,
  address: ({ extras }, { caller }, result) => {
    if ((extras?.allowedBlocks ?? null) === null) return 'The key has no list of addresses.';
    const address = caller.address();
    const shown = address === null ? 'An unknown address' : showAddress(address);
    return `${shown} is ${result === 'refused' ? 'not ' : ''}in the key's list of addresses.`;
  },
  permissions: ({ extras }, { permissions }) => {
    if (permissions === null) return 'The request asks for no permission.';
    const held = extras?.permissions?.permissions ?? [];
    if (held.length === 0) return 'The key has no permission.';
    return `The key has ${held.slice(0, SHOWN_PERMISSIONS).join(', ')}${held.length > SHOWN_PERMISSIONS ? ' and others' : ''}.`;
  },
};

/** A time later than a Date can be is shown as the number that it is. */
function timeOf(ms: number): string {
  return ms <= MAX_DATE_MS ? new Date(ms).toISOString() : `${ms} ms after 1970`;
}
