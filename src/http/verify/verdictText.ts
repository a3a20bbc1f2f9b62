import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import type { KeyEntry, WireText } from '../../engine/cache/keyEntry.ts';
import type { AppliedLimit, LimitWire } from '../../engine/verify/appliedLimits.ts';
import { type LimitReport, type Verdict } from '../../engine/verify/verdict.ts';
import { toIdentityObject } from '../shapes/keyObject.ts';

/**
 * A verdict as JSON text, put together from strings: on this route building an object and writing it out costs more than
 * deciding (`npm run bench`). The descriptive part of a key is made once and kept with the cached key. The fewer pieces it
 * is put together from, three at a time, the less the runtime has to remember until it writes them.
 */
export function verdictText(verdict: Verdict, requestId: string): string {
  const { code, key, remaining, limits } = verdict;
  const begun = HEADS[code] + requestId;
  if (key === null) return `${begun}","meta":{}}`;
  const described = isPlain(key) ? describedPlainly(begun, key) : `${begun}"${(key.wire ??= describe(key)).text}`;
  const counted = remaining === null ? described : `${described},"remaining":${remaining}`;
  return counted + (limits === null ? '}' : limitsText(limits));
}

/** How many bytes such a text is: counted only where it may be more than its characters. */
export function verdictBytes({ key, limits }: Verdict, text: string): number {
  let isOneEach = key === null || isPlain(key) || key.wire?.isAscii === true;
  if (limits !== null) for (const { limit } of limits) isOneEach &&= wireOf(limit).isAscii;
  return isOneEach ? text.length : Buffer.byteLength(text);
}

function isPlain({ extras, identity }: KeyEntry): boolean {
  return extras === null && identity === null;
}

/** Up to the request id, for each code. */
const HEADS = Object.fromEntries(
  VERDICT_CODES.map((code) => [code, `{"valid":${code === 'VALID'},"code":"${code}","requestId":"`]),
) as Readonly<Record<VerdictCode, string>>;

const NO_ACCESS = ',"permissions":[],"roles":[]';
const USUAL_END = `","meta":{},"enabled":true${NO_ACCESS}`;

function describedPlainly(begun: string, { id, enabled, expiresAtMs }: KeyEntry): string {
  const named = `${begun}","keyId":"${id}`;
  if (enabled && expiresAtMs === Infinity) return named + USUAL_END;
  const expires = expiresAtMs === Infinity ? '' : `,"expires":${expiresAtMs}`;
  return `${named}","meta":{}${expires},"enabled":${enabled}${NO_ACCESS}`;
}

function describe(key: KeyEntry): WireText {
  const { extras, identity } = key;
  let text = `,"keyId":"${key.id}"`;
  if (extras?.name != null) text += `,"name":${JSON.stringify(extras.name)}`;
  if (identity !== null) text += `,"ownerId":${JSON.stringify(identity.externalId)}`;
  text += `,"meta":${extras?.meta ?? '{}'}`;
  if (key.expiresAtMs !== Infinity) text += `,"expires":${key.expiresAtMs}`;
  text += `,"enabled":${key.enabled}`;
  if (extras?.environment != null) text += `,"environment":${JSON.stringify(extras.environment)}`;
  const access = extras?.access ?? null;
  if (access === null) text += NO_ACCESS;
  else text += `,"permissions":${JSON.stringify(access.permissions)},"roles":${JSON.stringify(access.roles)}`;
  if (identity !== null) text += `,"identity":${JSON.stringify(toIdentityObject(identity))}`;
  return { text, isAscii: isAscii(text) };
}

function limitsText(limits: readonly LimitReport[]): string {
  const shown = shownLimit(limits);
  let own = ',"ratelimits":[';
  let items = '';
  for (const report of limits) {
    const { ownHead, itemHead, keptEnd, exceededEnd } = wireOf(report.limit);
    const numbers = `${report.remaining},"reset":${report.resetAtMs}`;
    if (report === shown) own = `${ownHead}${numbers}},"ratelimits":[`;
    const item = itemHead + numbers + (report.exceeded ? exceededEnd : keptEnd);
    items = items === '' ? item : `${items},${item}`;
  }
  return `${own}${items}]}`;
}

/** The limit that refused, else the default one. */
function shownLimit(limits: readonly LimitReport[]): LimitReport | undefined {
  let shown: LimitReport | undefined;
  for (const report of limits) {
    if (report.exceeded) return report;
    if (shown === undefined && report.limit.name === DEFAULT_LIMIT_NAME) shown = report;
  }
  return shown;
}

/**
 * The headers of a verdict beside those that every answer has, a line each. IETF httpapi draft: RateLimit-Policy says what is
 * granted, RateLimit what is left of it.
 */
export function limitLines({ limits, atMs, code }: Verdict): string {
  const report = shownLimit(limits ?? []) ?? limits?.[0];
  if (report === undefined) return '';
  const { linesHead } = wireOf(report.limit);
  const seconds = Math.max(0, Math.ceil((report.resetAtMs - atMs) / 1000));
  const lines = `${linesHead}${report.remaining};t=${seconds}\r\n`;
  return code === 'RATE_LIMITED' ? `${lines}retry-after: ${seconds}\r\n` : lines;
}

/** The same keys, or many, have the same limit: its texts are made once. */
function wireOf(limit: AppliedLimit): LimitWire {
  return (limit.wire ??= makeWire(limit));
}

function makeWire({ name, limit, durationMs, async }: AppliedLimit): LimitWire {
  const json = JSON.stringify(name);
  // A structured header is ASCII only: the rest is replaced.
  const quoted = `"${name.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`;
  return {
    ownHead: `,"ratelimit":{"limit":${limit},"remaining":`,
    itemHead: `{"name":${json},"limit":${limit},"remaining":`,
    keptEnd: `,"async":${async},"exceeded":false}`,
    exceededEnd: `,"async":${async},"exceeded":true}`,
    isAscii: isAscii(json),
    linesHead: `ratelimit-policy: ${quoted};q=${limit};w=${Math.ceil(durationMs / 1000)}\r\nratelimit: ${quoted};r=`,
  };
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
