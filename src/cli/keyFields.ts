import { repeatable } from '../core/errors.ts';
import { nearestName } from '../core/nearest.ts';
import { misused } from './cliError.ts';
import { countFlag, objectFlag, timeFlag, windowMsFlag } from './flagValues.ts';
import type { EndpointField } from './endpoint/endpoint.ts';
import { parseValue, splitRate } from './endpoint/values.ts';
import type { FlagNames } from './flagErrors.ts';
import type { FlagTable, Flags } from './flags.ts';

/** The flags that `key create` and `key update` share. */
export const KEY_FIELD_FLAGS: FlagTable = {
  name: { value: 'TEXT', meaning: 'A name that helps people recognize the key.' },
  owner: { value: 'ID', meaning: 'The owner of the key: an id of your own.' },
  'external-id': { value: 'ID', meaning: 'The same as --owner.' },
  'must-exist': { value: null, meaning: 'Refuse an owner that does not exist, instead of creating it.' },
  meta: { value: 'JSON', meaning: 'A JSON object that every verification returns.' },
  expires: { value: 'TIME', meaning: 'When the key expires: unix milliseconds or a date such as 2030-12-31.' },
  remaining: { value: 'N', meaning: 'Number of credits. Without it the key has no credit limit.' },
  refill: {
    value: 'INTERVAL:AMOUNT',
    meaning: 'Refill at full hours or at midnight, such as daily:100 or monthly:1000.',
  },
  'refill-interval': {
    value: 'hourly|daily|weekly|monthly',
    meaning: 'When to refill: with --refill-amount, instead of --refill.',
  },
  'refill-amount': { value: 'N', meaning: 'Credits of one refill.' },
  'refill-day': { value: '1..31', meaning: 'Day of the month of a monthly refill.' },
  'refill-weekday': { value: '1..7', meaning: 'Day of the week of a weekly refill; 1 is Monday.' },
  'refill-timezone': { value: 'ZONE', meaning: 'Time zone of the midnight, such as Europe/Berlin.' },
  'refill-mode': { value: 'restore|add', meaning: 'restore sets the credits to the amount; add adds it.' },
  'refill-max': { value: 'N', meaning: 'With add: a refill does not raise the credits above this.' },
  limit: {
    value: 'N or N/TIME',
    meaning: 'Requests allowed in each window of --duration. 10/s is --limit 10 --duration 1s.',
  },
  duration: { value: 'TIME', meaning: 'Length of the window: milliseconds, or 1s, 1m, 1h, 1d.' },
  async: { value: null, meaning: 'Count the limit in memory and save the count after the answer (the default).' },
  strict: { value: null, meaning: 'Count the limit exactly: every count is committed before the answer.' },
  ratelimit: {
    value: 'NAME=N/TIME',
    meaning: 'A further limit with a name, such as uploads=10/h or uploads=10/h,strict, or a JSON object.',
    isRepeatable: true,
  },
  role: { value: 'NAME', meaning: 'A role of the key.', isRepeatable: true },
  permission: { value: 'NAME', meaning: 'A permission that the key has directly.', isRepeatable: true },
  metered: { value: null, meaning: 'Count what is spent exactly, without a balance (pay as you go).' },
  alerts: {
    value: 'JSON',
    meaning:
      'When events tell that credits run low or the key expires: {"creditsBelow":100,"expiresWithinMs":604800000}.',
  },
  ip: { value: 'ADDRESS', meaning: 'An address or CIDR block that may use the key.', isRepeatable: true },
  environment: { value: 'TEXT', meaning: 'A label that every verification returns.' },
};

/** The fields of keys.createKey and keys.updateKey that the flags set. */
export function toKeyFields(flags: Flags): Record<string, unknown> {
  if (flags.has('owner') && flags.has('external-id'))
    throw misused('--owner and --external-id mean the same. Give only one of them.');
  return withoutUndefined({
    name: flags.text('name'),
    externalId: flags.text('owner') ?? flags.text('external-id'),
    mustExist: flags.has('must-exist') ? true : undefined,
    meta: objectFlag(flags, 'meta'),
    expires: timeFlag(flags, 'expires'),
    remaining: countFlag(flags, 'remaining'),
    refill: orUndefined(toRefill(flags)),
    ratelimit: orUndefined(toLimit(flags)),
    ratelimits: orNone(flags.list('ratelimit').map((text) => parseValue(NAMED_LIMIT, text))),
    metered: flags.has('metered') ? true : undefined,
    alerts: objectFlag(flags, 'alerts'),
    ipAllowlist: orNone(flags.list('ip')),
    environment: flags.text('environment'),
  });
}

const LIMIT: EndpointField = { flag: 'limit', member: 'limit', kind: 'count', meaning: '' };
const NAMED_LIMIT: EndpointField = { flag: 'ratelimit', member: 'ratelimits', kind: 'namedRate', meaning: '' };

function toRefill(flags: Flags): Record<string, unknown> {
  const [interval, amount] = splitRefill(flags);
  return withoutUndefined({
    interval: flags.text('refill-interval') ?? interval,
    amount: countFlag(flags, 'refill-amount') ?? amount,
    refillDay: countFlag(flags, 'refill-day'),
    refillWeekday: countFlag(flags, 'refill-weekday'),
    timezone: flags.text('refill-timezone'),
    mode: flags.text('refill-mode'),
    max: countFlag(flags, 'refill-max'),
  });
}

function splitRefill(flags: Flags): [string, number] | [] {
  const text = flags.text('refill');
  if (text === undefined) return [];
  const [, interval, amount] = /^(hourly|daily|weekly|monthly):(\d{1,15})$/.exec(text) ?? [];
  if (interval === undefined)
    throw misused(
      `--refill must be hourly, daily, weekly or monthly, and an amount, such as daily:100, got ${repeatable(text)}.`,
    );
  for (const part of ['refill-interval', 'refill-amount']) {
    if (flags.has(part)) throw misused(`--refill and --${part} mean the same. Give only one of them.`);
  }
  return [interval, Number(amount)];
}

function toLimit(flags: Flags): Record<string, unknown> {
  if (flags.has('async') && flags.has('strict'))
    throw misused('--async and --strict exclude each other. Give only one of them.');
  const split = splitRate(LIMIT, flags.text('limit') ?? '');
  if (split !== null && flags.has('duration'))
    throw misused(`--limit ${flags.text('limit')} already says the window. Leave out --duration.`);
  return withoutUndefined({
    limit: split === null ? countFlag(flags, 'limit') : parseValue(LIMIT, split.limit),
    duration: split?.windowMs ?? windowMsFlag(flags, 'duration'),
    async: flags.has('async') ? true : flags.has('strict') ? false : undefined,
  });
}

/** The flag that sets each member of a request, for the errors of the service. */
export const KEY_FLAG_NAMES: FlagNames = {
  keyId: 'ID',
  apiId: '--api',
  prefix: '--prefix',
  byteLength: '--byte-length',
  name: '--name',
  externalId: '--owner',
  mustExist: '--must-exist',
  meta: '--meta',
  expires: '--expires',
  remaining: '--remaining',
  refill: '--refill',
  'refill.interval': '--refill-interval',
  'refill.amount': '--refill-amount',
  'refill.refillDay': '--refill-day',
  'refill.refillWeekday': '--refill-weekday',
  'refill.timezone': '--refill-timezone',
  'refill.mode': '--refill-mode',
  'refill.max': '--refill-max',
  ratelimit: '--limit',
  'ratelimit.limit': '--limit',
  'ratelimit.duration': '--duration',
  ratelimits: '--ratelimit',
  roles: '--role',
  permissions: '--permission',
  alerts: '--alerts',
  ipAllowlist: '--ip',
  environment: '--environment',
};

/** The words that --clear accepts, with the field that each sets to null. */
const CLEARABLE: Readonly<Record<string, string>> = {
  name: 'name',
  owner: 'externalId',
  'external-id': 'externalId',
  meta: 'meta',
  expires: 'expires',
  remaining: 'remaining',
  refill: 'refill',
  limit: 'ratelimit',
  ratelimit: 'ratelimits',
  role: 'roles',
  permission: 'permissions',
  alerts: 'alerts',
  ip: 'ipAllowlist',
  environment: 'environment',
};

export const CLEARABLE_WORDS = Object.keys(CLEARABLE).filter((word) => word !== 'external-id');

export function toClearedFields(words: readonly string[], set: object): Record<string, null> {
  const cleared: Record<string, null> = {};
  for (const word of words) {
    const field = Object.hasOwn(CLEARABLE, word) ? CLEARABLE[word] : undefined;
    if (field === undefined) {
      const near = nearestName(word, CLEARABLE_WORDS);
      throw misused(
        `--clear must be one of ${CLEARABLE_WORDS.join(', ')}, got ${repeatable(word)}.${near === null ? '' : ` Did you mean ${near}?`}`,
      );
    }
    if (field in set)
      throw misused(`--clear ${word} and the flag that sets it exclude each other. Give only one of them.`);
    cleared[field] = null;
  }
  return cleared;
}

function orNone<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function orUndefined(fields: Record<string, unknown>): Record<string, unknown> | undefined {
  return Object.keys(fields).length === 0 ? undefined : fields;
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
