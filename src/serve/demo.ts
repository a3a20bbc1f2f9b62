import { epochAt } from '../core/calendar.ts';
import { heldCredits, planRefill, versionAt } from '../core/plan.ts';
import { VERDICT_CODES, type VerdictCode } from '../core/verdictCodes.ts';
import { CountColumns, type VerificationCount } from '../core/verificationCounts.ts';
import { planOf } from '../engine/planOf.ts';
import { makeHandler } from '../http/router.ts';
import type { Service } from '../http/service.ts';
import { Dice } from './demo/dice.ts';
import { type DemoAsk, type DemoKey, type DemoRecords, makeDemoRecords } from './demo/records.ts';
import { startOfSpan } from '../storage/port/analytics.ts';
import type { Storage } from '../storage/port/storage.ts';

const TRAFFIC_EVERY_MS = 250;
const MAX_AT_ONCE = 6;
const PAGE = 100;

interface DemoContext {
  readonly service: Service;
  readonly rootKey: string;
  readonly url: string;
  /** How the user can call the command line. */
  readonly program: string;
}

/** Fills a service with sample data: records of a small business, a month of counts, and a trickle of verifications. */
export class Demo {
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #records: DemoRecords;
  readonly #context: DemoContext;

  private constructor(context: DemoContext, ask: DemoAsk, records: DemoRecords) {
    this.#context = context;
    this.#records = records;
    const dice = new Dice(13);
    let isBusy = false;
    this.#timer = setInterval(() => {
      if (isBusy) return;
      isBusy = true;
      void verifySome(ask, records, dice).finally(() => (isBusy = false));
    }, TRAFFIC_EVERY_MS);
  }

  static async start(context: DemoContext): Promise<Demo> {
    const ask = asClient(context);
    return new Demo(context, ask, await fillDemo(ask, context.service.engine.storage));
  }

  /** What a newcomer can try. */
  describe(): string {
    const { url, rootKey, program } = this.#context;
    const lines = this.#records.shown.map(({ code, key, asks }) => {
      return `  ${code.padEnd(24)} ${key}${asks === undefined ? '' : `  with ${JSON.stringify(asks)}`}`;
    });
    return `This is a demo. Its customers, and the counts of the last 30 days, are made up.
Statements begin today with everything spent since the last refill; analytics show it by day.
A key for each verdict:
${lines.join('\n')}
Try one, or watch what happens:
  curl -s ${url}/v1/keys.verifyKey -H 'Content-Type: application/json' -d '{"key":"${this.#records.shown[0]?.key ?? ''}"}'
  KEYSTILE_URL=${url} KEYSTILE_ROOT_KEY=${rootKey} ${program} top`;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Makes the records and a month of counts, and takes the credits that were used since its last refill from each balance. */
export async function fillDemo(ask: DemoAsk, storage: Storage): Promise<DemoRecords> {
  const { analytics, ledger } = storage;
  const records = await makeDemoRecords(ask, () => ledger.nowMs());
  const nowMs = ledger.nowMs();
  const past = [...records.keys, ...records.shown.flatMap((shown) => shown.past ?? [])];
  const taken: Taken[] = [];
  let batch = 0;
  for (const counts of demoHistory(past, await readIdentityIds(ask), nowMs)) {
    await analytics.add(counts, ++batch);
    for (const { identityId, minuteMs, credits } of counts.rows())
      if (credits > 0) taken.push({ identityId, minuteMs, credits });
  }
  const ofIdentity = Map.groupBy(taken, ({ identityId }) => identityId);
  await Promise.all([...ofIdentity].map(([id, of]) => spendPast(storage, id, of)));
  return records;
}

type Taken = Pick<VerificationCount, 'identityId' | 'minuteMs' | 'credits'>;

/** Spends the credits of the counts, so that statements and counts agree. */
async function spendPast({ records, ledger }: Storage, identityId: string, past: readonly Taken[]): Promise<void> {
  const identity = await records.findIdentityById(identityId);
  const credits = identity === null ? null : heldCredits(identity.credits, await planOf(records, identity));
  if (identity === null || credits === null || credits.refill === null) return;
  const nowMs = ledger.nowMs();
  const { rule } = versionAt(credits.refill, nowMs);
  const sinceMs = rule === null ? 0 : epochAt(rule, nowMs).startMs;
  const amount = past.reduce((sum, { minuteMs, credits: taken }) => (minuteMs < sinceMs ? sum : sum + taken), 0);
  const [account] = await ledger.read([credits.account]);
  const refill = planRefill(credits.refill, account?.mark ?? 0, nowMs);
  const charge = {
    account: credits.account,
    amount,
    rule: { kind: 'credits', refill },
    revision: identity.revision,
  } as const;
  const { status } = await ledger.spend({ charges: [charge], fences: [], idempotency: null });
  if (status !== 'taken')
    throw new Error(`The credits of ${identity.externalId} do not suffice for its history: ${status}.`);
}

/** Requests of the demo take the same way as all others, but inside this process. */
function asClient({ service, rootKey, url }: DemoContext): DemoAsk {
  const handle = makeHandler(service);
  return async <T extends object>(method: string, body: object): Promise<T> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${rootKey}` };
    const request = new Request(`${url}/v1/${method}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const response = await handle(request, () => '127.0.0.1');
    const answer = (await response.json()) as T & { error?: { message: string } };
    if (!response.ok) throw new Error(`${method}: ${answer.error?.message ?? response.status}`);
    return answer;
  };
}

async function readIdentityIds(ask: DemoAsk): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  let cursor: string | undefined;
  do {
    const asked = cursor === undefined ? { limit: PAGE } : { limit: PAGE, cursor };
    const page = await ask<{ identities: { id: string; externalId: string }[]; cursor?: string }>(
      'identities.listIdentities',
      asked,
    );
    for (const { id, externalId } of page.identities) found.set(externalId, id);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

/** Verifies busy keys more often than others, and sometimes a key that is refused. */
async function verifySome(ask: DemoAsk, { keys, shown }: DemoRecords, dice: Dice): Promise<void> {
  const count = 1 + Math.floor(dice.next() * MAX_AT_ONCE);
  for (let i = 0; i < count; i++) {
    const isRefused = dice.next() < 0.08;
    const place = Math.floor(dice.next() ** 3 * keys.length);
    const chosen = isRefused ? shown[Math.floor(dice.next() * shown.length)] : keys[place];
    // Failures need no message here: a service that stops or has trouble logs that itself.
    if (chosen !== undefined) await ask('keys.verifyKey', { key: chosen.key }).catch(() => {});
  }
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAYS = 30;
/** The history has a count every three hours; the last hour has one every minute. */
const STEP_MS = 3 * HOUR_MS;
/** Verifications of a key of weight 1 in a step, at most: in a month, every customer stays within the credits of its plan. */
const PER_STEP = 4;
const PER_MINUTE = 0.3;
/** The part of a customer's verifications that its limit refuses. */
const LIMITED = 0.03;

/** The counts of the last 30 days, as if these keys had been in use. `identityIds` by external id. */
function* demoHistory(
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

/** More traffic in the afternoon than at night, and less on weekends. */
function dayShape(atMs: number): number {
  const hour = (atMs / HOUR_MS) % 24;
  const isWeekend = [0, 6].includes(new Date(atMs).getUTCDay());
  return (0.3 + Math.max(0, Math.sin(((hour - 6) / 24) * 2 * Math.PI))) * (isWeekend ? 0.5 : 1);
}
