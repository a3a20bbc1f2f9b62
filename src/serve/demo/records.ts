import type { VerdictCode } from '../../core/verdictCodes.ts';
import { Dice } from './dice.ts';

/** Sends one request to the service, as a client does. */
export type DemoAsk = <T extends object>(method: string, body: object) => Promise<T>;

const CUSTOMERS = 200;
/** Requests at the same time: simultaneous changes share a commit. */
const AT_A_TIME = 25;
const FIRST = ['Blue', 'North', 'Bright', 'Silver', 'Quiet', 'Red', 'Swift', 'Green', 'Old', 'Little'] as const;
const SECOND = ['Fjord', 'Harbour', 'Lantern', 'Orchard', 'Bridge', 'Meadow', 'Compass', 'Anchor', 'Willow'] as const;
const THIRD = ['Labs', 'Logistics', 'Games', 'Media', 'Robotics', 'Health', 'Studio'] as const;
const HOUR_MS = 3_600_000;
/** A key cannot be created expired, so it expires soon. */
const SOON_MS = 2_000;
/**
 * The plans, with their credits a month and requests a second. Customers are sorted by size, largest first; `upTo` is where those of a plan
 * end.
 */
const PLANS = [
  { name: 'Business', credits: 1_000_000, perSecond: 200, upTo: 5 },
  { name: 'Pro', credits: 50_000, perSecond: 20, upTo: 60 },
  { name: 'Free', credits: 1_000, perSecond: 2, upTo: CUSTOMERS },
] as const;

export interface DemoKey {
  readonly apiId: string;
  readonly keyId: string;
  readonly key: string;
  readonly externalId: string | null;
  /** How often it is used, compared with the others. */
  readonly weight: number;
  /** The answer to each of its verifications in the history. Absent: most were valid. */
  readonly answers?: VerdictCode;
}

/** A key that answers with one code. */
interface ShownKey {
  readonly code: VerdictCode;
  readonly key: string;
  /** The same key in the history, if it could have had this answer all month. */
  readonly past?: DemoKey;
  /** What the verification has to ask for, to get this code. */
  readonly asks?: object;
}

export interface DemoRecords {
  readonly keys: readonly DemoKey[];
  readonly shown: readonly ShownKey[];
}

/** The answers that a key of now could have given all month, and how often. */
const PAST_REFUSALS: readonly VerdictCode[] = ['DISABLED', 'FORBIDDEN', 'INSUFFICIENT_PERMISSIONS', 'USAGE_EXCEEDED'];
const PAST_WEIGHT = 1;

type NewKey = Readonly<Record<string, unknown>>;
type MadeKey = Pick<DemoKey, 'keyId' | 'key'>;

/** Three apis, three plans, 200 customers and keys of every kind. */
export async function makeDemoRecords(ask: DemoAsk, nowMs: () => number): Promise<DemoRecords> {
  const apiIds: string[] = [];
  for (const name of ['Weather API', 'Maps API', 'Translation API'])
    apiIds.push((await ask<{ apiId: string }>('apis.createApi', { name })).apiId);
  const planIds = await makePlans(ask);
  const keys = await makeCustomers(ask, apiIds, planIds);
  const [firstApi = ''] = apiIds;
  return { keys, shown: await makeShownKeys(ask, firstApi, nowMs) };
}

async function makePlans(ask: DemoAsk): Promise<string[]> {
  const ids: string[] = [];
  for (const { name, credits, perSecond } of PLANS) {
    const plan = {
      name,
      remaining: credits,
      refill: { interval: 'monthly', amount: credits },
      ratelimits: [{ name: 'requests', limit: perSecond, duration: 1_000, async: true }],
    };
    ids.push((await ask<{ planId: string }>('plans.createPlan', plan)).planId);
  }
  return ids;
}

async function makeCustomers(ask: DemoAsk, apiIds: readonly string[], planIds: readonly string[]): Promise<DemoKey[]> {
  const dice = new Dice(7);
  const customers = Array.from({ length: CUSTOMERS }, (_, i) => ({
    externalId: `customer_${String(i + 1).padStart(3, '0')}`,
    name: `${dice.pick(FIRST)} ${dice.pick(SECOND)} ${dice.pick(THIRD)}`,
    planId: planIds[PLANS.findIndex(({ upTo }) => i < upTo)],
    // A few customers cause most of the traffic.
    weight: 60 / (i + 1) + 0.5,
  }));
  await inParallel(customers, async ({ externalId, name, planId }) => {
    await ask('identities.createIdentity', { externalId, name });
    await ask('plans.assign', { externalId, planId });
  });
  const wanted = customers.flatMap(({ externalId, weight }, i) =>
    ['production', 'staging'].slice(0, 1 + (i % 3 === 0 ? 1 : 0)).map((environment) => ({
      fields: {
        apiId: apiIds[i % 7 === 0 ? 1 : i % 11 === 0 ? 2 : 0],
        externalId,
        name: environment,
        environment,
        prefix: 'demo',
      },
      weight: environment === 'staging' ? weight / 10 : weight,
    })),
  );
  const made = await createKeys(
    ask,
    wanted.map(({ fields }) => fields),
  );
  return made.map((key, i) => {
    const { fields, weight } = wanted[i] ?? { fields: { apiId: '', externalId: '' }, weight: 0 };
    return { ...key, apiId: fields.apiId ?? '', externalId: fields.externalId, weight };
  });
}

/** One key for each verdict code. Each try of a key gives its code. */
async function makeShownKeys(ask: DemoAsk, apiId: string, nowMs: () => number): Promise<ShownKey[]> {
  const limited = { ratelimits: [{ name: 'hourly', limit: 1, duration: 24 * HOUR_MS, async: false }] };
  const kinds: readonly (readonly [VerdictCode, NewKey, object?])[] = [
    ['VALID', { remaining: 1_000_000, refill: { interval: 'daily', amount: 1_000_000 } }],
    ['DISABLED', { enabled: false }],
    ['EXPIRED', { expires: nowMs() + SOON_MS }],
    ['FORBIDDEN', { ipAllowlist: ['192.0.2.1'] }],
    ['INSUFFICIENT_PERMISSIONS', { permissions: ['maps.read'] }, { authorization: { permissions: 'maps.write' } }],
    ['RATE_LIMITED', limited],
    ['USAGE_EXCEEDED', { remaining: 0 }],
  ];
  const fields = kinds.map(([code, kind]) => ({ apiId, name: `always ${code}`, prefix: 'demo', ...kind }));
  const made = await createKeys(ask, fields);
  const shown = kinds.map(([code, , asks], i) => ({
    code,
    key: made[i]?.key ?? '',
    ...(PAST_REFUSALS.includes(code)
      ? { past: { ...(made[i] as MadeKey), apiId, externalId: null, weight: PAST_WEIGHT, answers: code } }
      : {}),
    ...(asks === undefined ? {} : { asks }),
  }));
  const used = shown.find(({ code }) => code === 'RATE_LIMITED');
  if (used !== undefined) await ask('keys.verifyKey', { key: used.key });
  return [...shown, { code: 'NOT_FOUND', key: 'demo_nobodyHasThisKey' }];
}

async function createKeys(ask: DemoAsk, keys: readonly NewKey[]): Promise<readonly MadeKey[]> {
  const { apiId } = keys[0] ?? {};
  return (await ask<{ keys: MadeKey[] }>('keys.createKeys', { apiId, keys })).keys;
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let i = 0; i < items.length; i += AT_A_TIME) await Promise.all(items.slice(i, i + AT_A_TIME).map(work));
}
