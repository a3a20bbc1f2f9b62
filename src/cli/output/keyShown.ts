import type { Static } from 'typebox';

import { showDuration } from '../../config/kinds.ts';
import type { KeyObject } from '../../http/shapes/keys/keyObject.ts';
import { record, showTime, table } from './show.ts';

/** Keys as text for people. */

export type Key = Static<typeof KeyObject>;

export function keyRecord(key: Key): string {
  return record([
    ['id', key.id],
    ['start', key.start],
    ['api', key.apiId],
    ['name', key.name],
    ['owner', key.ownerId],
    ['plan', key.planId],
    ['enabled', key.enabled ? 'yes' : 'no'],
    ['remaining', key.remaining === undefined ? 'unlimited' : String(key.remaining)],
    ['refill', refillText(key)],
    ['limit', limitText(key)],
    ...(key.ratelimits ?? []).map(({ name, ...limit }) => [`limit ${name}`, windowText(limit)] as const),
    ['addresses', key.ipAllowlist?.join(', ')],
    ['environment', key.environment],
    ['meta', Object.keys(key.meta).length === 0 ? undefined : JSON.stringify(key.meta)],
    ['expires', key.expires === undefined ? 'never' : showTime(key.expires)],
    ['created', showTime(key.createdAt)],
    ['updated', key.updatedAt === undefined ? undefined : showTime(key.updatedAt)],
  ]);
}

const HEADING = ['ID', 'START', 'NAME', 'OWNER', 'ENABLED', 'REMAINING', 'LIMIT', 'EXPIRES', 'CREATED'];

export function keyTable(keys: readonly Key[]): string {
  const rows = keys.map((key) => [
    key.id,
    key.start,
    key.name ?? '',
    key.ownerId ?? '',
    key.enabled ? 'yes' : 'no',
    key.remaining === undefined ? '' : String(key.remaining),
    limitText(key) ?? '',
    key.expires === undefined ? '' : showTime(key.expires),
    showTime(key.createdAt),
  ]);
  return table(HEADING, rows);
}

function limitText({ ratelimit }: Key): string | undefined {
  return ratelimit === undefined ? undefined : windowText(ratelimit);
}

function windowText({ limit, duration, async }: { limit: number; duration: number; async: boolean }): string {
  return `${limit} in ${showDuration(duration)}${async ? '' : ', strict'}`;
}

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

function refillText({ refill }: Key): string | undefined {
  if (refill === undefined) return undefined;
  const { interval, amount, refillDay, refillWeekday, timezone, mode, max, nextRefillAt } = refill;
  const weekday = refillWeekday === undefined ? '' : ` on ${WEEKDAYS[refillWeekday - 1]}`;
  const day = refillDay === null ? weekday : ` on day ${refillDay}`;
  const what = mode === 'add' ? `adds ${amount}${max === undefined ? '' : ` up to ${max}`}` : `to ${amount}`;
  const next = nextRefillAt === undefined ? '' : `, next ${showTime(nextRefillAt)}`;
  return `${interval}${day} ${what} (${timezone})${next}`;
}
