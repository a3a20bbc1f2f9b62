import { DEFAULT_LIMIT_NAME } from '../core/records.ts';
import type { KeyEntry } from '../engine/keyEntry.ts';
import { type LimitReport, type Verdict, VERDICT_CODES, type VerdictCode } from '../engine/verdict.ts';
import { toIdentityObject } from './keyObject.ts';

/**
 * A verdict as JSON text, put together from strings: on this route building an object and writing it out costs more than
 * deciding (`npm run bench`). The descriptive part of a key is made once and kept with the cached key.
 */
export function verdictText(verdict: Verdict, requestId: string): string {
  const { code, key, remaining, limits } = verdict;
  const head = HEADS[code];
  if (key === null) return `${head}${requestId}","meta":{}}`;
  const described = key.extras === null && key.identity === null ? describePlain(key) : (key.wire ??= describe(key));
  const counted = remaining === null ? '' : `,"remaining":${remaining}`;
  return `${head}${requestId}"${described}${counted}${limits === null ? '}' : limitsText(limits)}`;
}

/** Up to the request id, for each code. */
const HEADS = Object.fromEntries(
  VERDICT_CODES.map((code) => [code, `{"valid":${code === 'VALID'},"code":"${code}","requestId":"`]),
) as Readonly<Record<VerdictCode, string>>;

function describePlain(key: KeyEntry): string {
  if (key.enabled && key.expiresAtMs === Infinity) return `,"keyId":"${key.id}","meta":{},"enabled":true`;
  const expires = key.expiresAtMs === Infinity ? '' : `,"expires":${key.expiresAtMs}`;
  return `,"keyId":"${key.id}","meta":{}${expires},"enabled":${key.enabled}`;
}

function describe(key: KeyEntry): string {
  const { extras, identity } = key;
  let text = `,"keyId":"${key.id}"`;
  if (extras?.name != null) text += `,"name":${JSON.stringify(extras.name)}`;
  if (identity !== null) text += `,"ownerId":${JSON.stringify(identity.externalId)}`;
  text += `,"meta":${extras?.meta ?? '{}'}`;
  if (key.expiresAtMs !== Infinity) text += `,"expires":${key.expiresAtMs}`;
  text += `,"enabled":${key.enabled}`;
  if (extras?.environment != null) text += `,"environment":${JSON.stringify(extras.environment)}`;
  if (identity !== null) text += `,"identity":${JSON.stringify(toIdentityObject(identity))}`;
  return text;
}

function limitsText(limits: readonly LimitReport[]): string {
  const shown = shownLimit(limits);
  let text =
    shown === undefined
      ? ''
      : `,"ratelimit":{"limit":${shown.limit},"remaining":${shown.remaining},"reset":${shown.resetAtMs}}`;
  text += ',"ratelimits":[';
  for (const [i, { name, limit, remaining, resetAtMs, async, exceeded }] of limits.entries()) {
    text += `${i === 0 ? '' : ','}{"name":${JSON.stringify(name)},"limit":${limit},"remaining":${remaining},"reset":${resetAtMs},"async":${async},"exceeded":${exceeded}}`;
  }
  return `${text}]}`;
}

/** The limit that refused, else the default one. */
export function shownLimit(limits: readonly LimitReport[]): LimitReport | undefined {
  return limits.find(({ exceeded }) => exceeded) ?? limits.find(({ name }) => name === DEFAULT_LIMIT_NAME);
}
