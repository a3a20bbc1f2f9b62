import { repeatable } from '../core/errors.ts';
import { nearestName } from '../core/nearest.ts';
import { misused } from './cliError.ts';
import { countFlag, objectFlag, timeFlag, windowMsFlag } from './flagValues.ts';
import type { FlagTable, Flags } from './flags.ts';

/** The flags that `key create` and `key update` share. */
export const KEY_FIELD_FLAGS: FlagTable = {
  name: { value: 'TEXT', meaning: 'A name for people.' },
  owner: { value: 'ID', meaning: 'Whose key it is, in your own ids.' },
  'external-id': { value: 'ID', meaning: 'The same as --owner.' },
  meta: { value: 'JSON', meaning: 'An object that every verification answers with.' },
  expires: { value: 'TIME', meaning: 'Unix milliseconds or a date such as 2030-12-31.' },
  remaining: { value: 'N', meaning: 'Credits; without it the key is not counted.' },
  refill: { value: 'INTERVAL:AMOUNT', meaning: 'daily:100 or monthly:1000: what midnight brings back.' },
  'refill-interval': { value: 'daily|monthly', meaning: 'The same in parts: when.' },
  'refill-amount': { value: 'N', meaning: 'How much.' },
  'refill-day': { value: '1..31', meaning: 'The day of a monthly refill.' },
  'refill-timezone': { value: 'ZONE', meaning: 'Whose midnight, such as Europe/Berlin.' },
  'refill-mode': { value: 'restore|add', meaning: 'Set the credits to the amount (restore) or add it.' },
  'refill-max': { value: 'N', meaning: 'The most that adding reaches.' },
  limit: { value: 'N', meaning: 'Requests in a window of --duration.' },
  duration: { value: 'TIME', meaning: 'Milliseconds, or 1s, 1m, 1h, 1d.' },
  async: { value: null, meaning: 'Count the limit in memory: fast, saved behind the request (what is usual).' },
  strict: { value: null, meaning: 'Commit every count before the answer.' },
  ip: { value: 'ADDRESS', meaning: 'An address or CIDR block that may use the key.', isRepeatable: true },
  environment: { value: 'TEXT', meaning: 'A label that every verification answers with.' },
};

/** The flags as fields of keys.createKey and keys.updateKey. */
export function toKeyFields(flags: Flags): Record<string, unknown> {
  if (flags.has('owner') && flags.has('external-id'))
    throw misused('--owner and --external-id mean the same. Give only one of them.');
  const ip = flags.list('ip');
  return withoutUndefined({
    name: flags.text('name'),
    externalId: flags.text('owner') ?? flags.text('external-id'),
    meta: objectFlag(flags, 'meta'),
    expires: timeFlag(flags, 'expires'),
    remaining: countFlag(flags, 'remaining'),
    refill: orUndefined(toRefill(flags)),
    ratelimit: orUndefined(toLimit(flags)),
    ipAllowlist: ip.length === 0 ? undefined : ip,
    environment: flags.text('environment'),
  });
}

function toRefill(flags: Flags): Record<string, unknown> {
  const [interval, amount] = splitRefill(flags);
  return withoutUndefined({
    interval: flags.text('refill-interval') ?? interval,
    amount: countFlag(flags, 'refill-amount') ?? amount,
    refillDay: countFlag(flags, 'refill-day'),
    timezone: flags.text('refill-timezone'),
    mode: flags.text('refill-mode'),
    max: countFlag(flags, 'refill-max'),
  });
}

function splitRefill(flags: Flags): [string, number] | [] {
  const text = flags.text('refill');
  if (text === undefined) return [];
  const [, interval, amount] = /^(daily|monthly):(\d{1,15})$/.exec(text) ?? [];
  if (interval === undefined) throw misused('--refill must be daily:AMOUNT or monthly:AMOUNT, such as daily:100.');
  for (const part of ['refill-interval', 'refill-amount']) {
    if (flags.has(part)) throw misused(`--refill and --${part} mean the same. Give only one of them.`);
  }
  return [interval, Number(amount)];
}

function toLimit(flags: Flags): Record<string, unknown> {
  if (flags.has('async') && flags.has('strict'))
    throw misused('--async and --strict exclude each other. Give only one of them.');
  return withoutUndefined({
    limit: countFlag(flags, 'limit'),
    duration: windowMsFlag(flags, 'duration'),
    async: flags.has('async') ? true : flags.has('strict') ? false : undefined,
  });
}

/** What --clear can be told, and the field that it sets to null. */
const CLEARABLE: Readonly<Record<string, string>> = {
  name: 'name',
  owner: 'externalId',
  'external-id': 'externalId',
  meta: 'meta',
  expires: 'expires',
  remaining: 'remaining',
  refill: 'refill',
  limit: 'ratelimit',
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

function orUndefined(fields: Record<string, unknown>): Record<string, unknown> | undefined {
  return Object.keys(fields).length === 0 ? undefined : fields;
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
