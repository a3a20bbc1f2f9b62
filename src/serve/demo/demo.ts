import { epochAt } from '../../core/calendar.ts';
import { heldCredits } from '../../core/plan.ts';
import { planRefill, versionAt } from '../../core/refillPlan.ts';
import type { VerificationCount } from '../../core/verificationCounts.ts';
import { planOf } from '../../engine/planOf.ts';
import { makeHandler } from '../../http/app.ts';
import type { Service } from '../../http/service.ts';
import type { Storage } from '../../storage/port/storage.ts';
import { Dice } from './dice.ts';
import { demoHistory } from './history.ts';
import { type DemoAsk, type DemoRecords, makeDemoRecords } from './records.ts';

const TRAFFIC_EVERY_MS = 250;
const MAX_AT_ONCE = 6;
const PAGE = 100;

export interface DemoContext {
  readonly service: Service;
  readonly rootKey: string;
  readonly url: string;
  /** How the user can call the command line. */
  readonly program: string;
}

/** A service with something to look at: records of a small business, a month of counts, and a trickle of verifications. */
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
Statements begin today, with all that was spent since the last refill. Analytics have it by day.
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

/** Makes the records and a month of counts, and takes from each balance what was used since its last refill. */
export async function fillDemo(ask: DemoAsk, storage: Storage): Promise<DemoRecords> {
  const { analytics, ledger } = storage;
  const records = await makeDemoRecords(ask, () => ledger.nowMs());
  const nowMs = ledger.nowMs();
  const past = [...records.keys, ...records.shown.flatMap((shown) => shown.past ?? [])];
  const taken: Taken[] = [];
  let batch = 0;
  for (const counts of demoHistory(past, await identityIds(ask), nowMs)) {
    await analytics.add(counts, ++batch);
    for (const { identityId, minuteMs, credits } of counts.rows())
      if (credits > 0) taken.push({ identityId, minuteMs, credits });
  }
  const ofIdentity = Map.groupBy(taken, ({ identityId }) => identityId);
  await Promise.all([...ofIdentity].map(([id, of]) => spendPast(storage, id, of)));
  return records;
}

type Taken = Pick<VerificationCount, 'identityId' | 'minuteMs' | 'credits'>;

/** The statement then tells of the same credits as the counts. */
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

/** Requests of the demo go the way of all others, inside of this process. */
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

async function identityIds(ask: DemoAsk): Promise<Map<string, string>> {
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

/** Busy keys more often than others, and now and then one that is refused. */
async function verifySome(ask: DemoAsk, { keys, shown }: DemoRecords, dice: Dice): Promise<void> {
  const count = 1 + Math.floor(dice.next() * MAX_AT_ONCE);
  for (let i = 0; i < count; i++) {
    const isRefused = dice.next() < 0.08;
    const place = Math.floor(dice.next() ** 3 * keys.length);
    const chosen = isRefused ? shown[Math.floor(dice.next() * shown.length)] : keys[place];
    // A service that stops or has trouble says so itself.
    if (chosen !== undefined) await ask('keys.verifyKey', { key: chosen.key }).catch(() => {});
  }
}
