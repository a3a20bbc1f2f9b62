import { CountColumns, type VerificationCount } from '../../core/verificationCounts.ts';
import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';
import { startOfSpan } from '../../storage/port/analytics.ts';
import { Dice } from './dice.ts';
import type { DemoKey } from './records.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAYS = 30;
/** Older days have a count every three hours, the last hour one every minute. */
const STEP_MS = 3 * HOUR_MS;
/** Verifications of a key of weight 1 in a step, at its height: in a month, every customer stays within the credits of its plan. */
const PER_STEP = 4;
const PER_MINUTE = 0.3;
/** The part of a customer's verifications that its limit refuses. */
const LIMITED = 0.03;

/** The counts of the last 30 days, as if these keys had been in use. `identityIds` by external id. */
export function* demoHistory(
  keys: readonly DemoKey[],
  identityIds: ReadonlyMap<string, string>,
  nowMs: number,
): Generator<CountColumns> {
  const dice = new Dice(11);
  const lastHourMs = startOfSpan('minute', nowMs) - HOUR_MS;
  for (let atMs = startOfSpan('minute', nowMs) - DAYS * 24 * HOUR_MS; atMs < lastHourMs; atMs += STEP_MS) {
    const growth = 1 - (nowMs - atMs) / (DAYS * 24 * HOUR_MS) / 2;
    yield countsOf(keys, identityIds, { atMs, dice, factor: PER_STEP * growth * dayShape(atMs) });
  }
  for (let atMs = lastHourMs; atMs < nowMs; atMs += MINUTE_MS)
    yield countsOf(keys, identityIds, { atMs, dice, factor: PER_MINUTE });
}

interface Moment {
  readonly atMs: number;
  readonly dice: Dice;
  readonly factor: number;
}

function countsOf(keys: readonly DemoKey[], identityIds: ReadonlyMap<string, string>, moment: Moment): CountColumns {
  const rows: VerificationCount[] = [];
  for (const { apiId, keyId, externalId, weight, answers } of keys) {
    const total = Math.floor(weight * moment.factor * (0.5 + moment.dice.next()) + moment.dice.next());
    if (total === 0) continue;
    const limited = Math.min(total, Math.floor(total * LIMITED + moment.dice.next() * 0.9));
    const valid = answers === undefined ? total - limited : 0;
    const counted: Partial<Record<VerdictCode, number>> =
      answers === undefined ? { VALID: valid, RATE_LIMITED: limited } : { [answers]: total };
    const counts = VERDICT_CODES.map((code) => counted[code] ?? 0);
    const identityId = identityIds.get(externalId ?? '') ?? '';
    rows.push({
      minuteMs: moment.atMs,
      apiId,
      keyId,
      identityId,
      tags: '',
      counts,
      credits: valid,
      lastAtMs: moment.atMs,
    });
  }
  return CountColumns.of(rows);
}

/** More in the afternoon than at night, and less at weekends. */
function dayShape(atMs: number): number {
  const hour = (atMs / HOUR_MS) % 24;
  const isWeekend = [0, 6].includes(new Date(atMs).getUTCDay());
  return (0.3 + Math.max(0, Math.sin(((hour - 6) / 24) * 2 * Math.PI))) * (isWeekend ? 0.5 : 1);
}
