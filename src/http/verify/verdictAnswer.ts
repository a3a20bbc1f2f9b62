import { MAX_SHOWN_POLICIES } from '../../core/bounds.ts';
import { DEFAULT_LIMIT_NAME } from '../../core/records.ts';
import { VERDICT_CODES, type VerdictCode, VERDICTS } from '../../core/verdictCodes.ts';
import type {
  AppliedLimit,
  LimitWire,
  IdentityEntry,
  IdentityWireText,
  KeptIdentity,
  KeyEntry,
  WireText,
} from '../../engine/cache/entries.ts';
import type { ExplainedCheck, Verdict } from '../../engine/verify/verdict.ts';
import type { LimitReport } from '../../engine/verify/pipeline.ts';
import type { Service } from '../service.ts';
import { toExplainedObject } from '../shapes/keys/verdictSchema.ts';
import { toIdentityObject } from '../shapes/keys/keyObject.ts';
import type { AnswerHeader } from '../shapes/schema/answerHeaders.ts';
import type { IdentityRecord } from '../../model/identities.ts';

/** Gives a verdict as the front sends it. */
export interface VerdictWriter {
  /** The body, with a new request id. */
  text(verdict: Verdict): string;
  /** How many bytes this body has. */
  bytes(verdict: Verdict, text: string): number;
  /** Its headers beside those that every answer has, as lines. */
  headerLines(verdict: Verdict): string;
}

/** The same for the general handler, whose answers have their headers as pairs. */
export interface GeneralVerdictWriter extends VerdictWriter {
  headerPairs(verdict: Verdict): readonly VerdictHeader[];
}

const JSON_HEADER = ['content-type', 'application/json'] as const;

/** An answer of the general handler with a verdict. */
export function verdictResponse(
  verdicts: GeneralVerdictWriter,
  verdict: Verdict,
  text: string,
  { url }: Request,
): Response {
  const isPretty = url.includes('?') && new URL(url).searchParams.has('pretty');
  return new Response(isPretty ? JSON.stringify(JSON.parse(text), null, 2) : text, {
    headers: [JSON_HEADER, ...verdicts.headerPairs(verdict)].map(([name, value]) => [name, value]),
  });
}

export function makeVerdictWriter({ requestIds, config }: Service): GeneralVerdictWriter {
  const { ratelimitHeaders } = config;
  return {
    text(verdict) {
      const text = verdictText(verdict, requestIds.next());
      return verdict.explanation === undefined ? text : withExplanation(text, verdict.explanation);
    },
    bytes: (verdict, text) =>
      verdict.explanation === undefined ? verdictBytes(verdict, text) : Buffer.byteLength(text),
    headerLines: (verdict) => headerLines(verdict, ratelimitHeaders),
    headerPairs: (verdict) => headerPairs(verdict, ratelimitHeaders),
  };
}

/**
 * A verdict as JSON text. It is joined from strings: to build an object and to stringify it costs more than to decide
 * (`npm run bench`). The text that describes a key is made once and kept with the cached key. The text is joined from few
 * pieces, because the runtime keeps the pieces until the text is written.
 */
function verdictText(verdict: Verdict, requestId: string): string {
  const { code, key, remaining, limits } = verdict;
  const begun = HEADS[code] + requestId;
  if (key === null) return `${begun}","meta":{}}`;
  const described =
    key.extras === null ? describedPlainly(begun, key) : `${begun}"${(key.wire ??= describe(key)).text}`;
  const left = remaining === null ? described : `${described},"remaining":${remaining}`;
  const counted = verdict.nextRefillAtMs === undefined ? left : `${left},"nextRefillAt":${verdict.nextRefillAtMs}`;
  return counted + (limits === null ? '}' : limitsText(limits));
}

/** The same text with what each check found. */
function withExplanation(text: string, explanation: readonly ExplainedCheck[]): string {
  return `${text.slice(0, -1)},"explanation":${JSON.stringify(explanation.map(toExplainedObject))}}`;
}

/** How many bytes such a text has. They are counted only when it may have characters of more than one byte. */
function verdictBytes({ key, limits }: Verdict, text: string): number {
  let isOneEach = key === null || (key.extras === null ? isPlainAscii(key) : key.wire?.isAscii === true);
  if (limits !== null) for (const { limit } of limits) isOneEach &&= wireOf(limit).isAscii;
  return isOneEach ? text.length : Buffer.byteLength(text);
}

/** Of a key that nothing but its identity describes. */
function isPlainAscii({ identity }: KeyEntry): boolean {
  return identity === null || identity.kept === null || describeKept(identity.kept).isAscii;
}

/** Up to the request id, for each code. */
const HEADS = Object.fromEntries(
  VERDICT_CODES.map((code) => [code, `{"valid":${code === 'VALID'},"code":"${code}","requestId":"`]),
) as Readonly<Record<VerdictCode, string>>;

const NO_ACCESS = ',"permissions":[],"roles":[]';
/** Of a key that is enabled and does not expire. */
const USUAL = `,"meta":{},"enabled":true${NO_ACCESS}`;
const USUAL_END = `"${USUAL}`;

/** A key with nothing of its own to describe. */
function describedPlainly(begun: string, { id, enabled, expiresAtMs, identity }: KeyEntry): string {
  const named = `${begun}","keyId":"${id}`;
  const isUsual = enabled && expiresAtMs === Infinity;
  if (isUsual && identity === null) return named + USUAL_END;
  if (isUsual && identity?.kept === null) return named + (identity.usualEnd ?? usualEndOf(identity));
  const expires = expiresAtMs === Infinity ? '' : `,"expires":${expiresAtMs}`;
  const own = isUsual ? USUAL : `,"meta":{}${expires},"enabled":${enabled}${NO_ACCESS}`;
  if (identity === null) return `${named}"${own}`;
  const owner = describeIdentity(identity);
  return `${named}"${owner.ownerId}${own}${owner.identity}`;
}

/** Made with the first answer that needs it, and kept with the identity. */
function usualEndOf(packed: IdentityEntry): string {
  const { ownerId, identity } = describePacked(packed);
  const text = `"${ownerId}${USUAL}${identity}`;
  packed.keepUsualEnd(text);
  return text;
}

function describe(key: KeyEntry): WireText {
  const { extras, identity } = key;
  const owner = identity === null ? null : describeIdentity(identity);
  let text = `,"keyId":"${key.id}"`;
  if (extras?.name != null) text += `,"name":${JSON.stringify(extras.name)}`;
  if (owner !== null) text += owner.ownerId;
  text += `,"meta":${extras?.meta ?? '{}'}`;
  if (key.expiresAtMs !== Infinity) text += `,"expires":${key.expiresAtMs}`;
  text += `,"enabled":${key.enabled}`;
  if (extras?.environment != null) text += `,"environment":${JSON.stringify(extras.environment)}`;
  const access = extras?.permissions ?? null;
  if (access === null) text += NO_ACCESS;
  else text += `,"permissions":${JSON.stringify(access.permissions)},"roles":${JSON.stringify(access.roles)}`;
  if (owner !== null) text += owner.identity;
  return { text, isAscii: isAscii(text) };
}

function describeIdentity(entry: IdentityEntry): IdentityWireText {
  return entry.kept === null ? describePacked(entry) : describeKept(entry.kept);
}

/** Its names are plain text, and it has no metadata. */
function describePacked({ id, externalId }: IdentityEntry): IdentityWireText {
  return {
    ownerId: `,"ownerId":"${externalId}"`,
    identity: `,"identity":{"id":"${id}","externalId":"${externalId}","meta":{}}`,
    isAscii: true,
  };
}

/** Made with the first answer that needs it. */
function describeKept(kept: KeptIdentity): IdentityWireText {
  return (kept.wire ??= describeRecord(kept.record));
}

function describeRecord(record: IdentityRecord): IdentityWireText {
  const ownerId = `,"ownerId":${JSON.stringify(record.externalId)}`;
  const identity = `,"identity":${JSON.stringify(toIdentityObject(record))}`;
  return { ownerId, identity, isAscii: isAscii(ownerId) && isAscii(identity) };
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

/** The headers that a verdict can have beside those that every answer has. */
export const VERDICT_HEADERS = [
  'keystile-replayed',
  'ratelimit-policy',
  'ratelimit',
  'retry-after',
] as const satisfies readonly AnswerHeader[];

/** One header of a verdict. */
type VerdictHeader = readonly [name: (typeof VERDICT_HEADERS)[number], value: string];

/**
 * Keystile-Replayed, and the headers of limits (IETF httpapi draft): RateLimit-Policy says what each limit grants, first the one that the
 * verdict shows, and RateLimit what is left of that one. Retry-After says when the limit, or a refill of the credits, lets requests pass
 * again. The front writes them as lines, the general handler as pairs. Lines are not made from pairs: that was measured as 5 % of the work
 * for a verification with a limit.
 */
export function headerLines(verdict: Verdict, hasLimitHeaders: boolean): string {
  const { limits, replayed, code } = verdict;
  if (limits === null && !replayed && code !== 'USAGE_EXCEEDED') return '';
  const begun = replayed ? 'keystile-replayed: true\r\n' : '';
  const report = reportOf(verdict, hasLimitHeaders);
  const limited = report === undefined ? begun : begun + limitLines(verdict, report);
  const seconds = hasLimitHeaders && code !== 'VALID' ? retryAfter(verdict, report) : null;
  return seconds === null ? limited : `${limited}retry-after: ${seconds}\r\n`;
}

function limitLines(verdict: Verdict, report: LimitReport): string {
  const { linesHead, rateLimitHead } = wireOf(report.limit);
  const left = `${report.remaining};t=${secondsUntil(report.resetAtMs, verdict)}\r\n`;
  if (verdict.limits?.length === 1) return linesHead + left;
  return `ratelimit-policy: ${policies(verdict, report)}\r\nratelimit: ${rateLimitHead}${left}`;
}

export function headerPairs(verdict: Verdict, hasLimitHeaders: boolean): VerdictHeader[] {
  const pairs: VerdictHeader[] = verdict.replayed ? [['keystile-replayed', 'true']] : [];
  const report = reportOf(verdict, hasLimitHeaders);
  if (report !== undefined) {
    const { rateLimitHead } = wireOf(report.limit);
    pairs.push(['ratelimit-policy', policies(verdict, report)]);
    pairs.push(['ratelimit', `${rateLimitHead}${report.remaining};t=${secondsUntil(report.resetAtMs, verdict)}`]);
  }
  const seconds = hasLimitHeaders ? retryAfter(verdict, report) : null;
  if (seconds !== null) pairs.push(['retry-after', String(seconds)]);
  return pairs;
}

function policies({ limits }: Verdict, shown: LimitReport): string {
  const others = (limits ?? []).filter((report) => report !== shown).slice(0, MAX_SHOWN_POLICIES - 1);
  return [shown, ...others].map(({ limit }) => wireOf(limit).policy).join(', ');
}

/** null: waiting is not known to help. */
function retryAfter(verdict: Verdict, report: LimitReport | undefined): number | null {
  if (verdict.code === 'RATE_LIMITED' && report !== undefined) return secondsUntil(report.resetAtMs, verdict);
  return verdict.nextRefillAtMs === undefined ? null : secondsUntil(verdict.nextRefillAtMs, verdict);
}

function reportOf({ limits }: Verdict, hasLimitHeaders: boolean): LimitReport | undefined {
  return limits === null || !hasLimitHeaders ? undefined : (shownLimit(limits) ?? limits[0]);
}

function secondsUntil(unixMs: number, { atMs }: Verdict): number {
  return Math.max(0, Math.ceil((unixMs - atMs) / 1000));
}

/**
 * The HTTP status that the caller of a protected route gets for each verdict. UNAVAILABLE: there is no verdict.
 * keys.verifyKey does not use it: there every verdict is 200.
 */
export const VERDICT_STATUS = {
  ...(Object.fromEntries(Object.entries(VERDICTS).map(([code, { status }]) => [code, status])) as {
    readonly [C in VerdictCode]: (typeof VERDICTS)[C]['status'];
  }),
  UNAVAILABLE: 503,
} as const;

/**
 * Whether a refused request can pass later, when nothing but time has changed. Many clients repeat every 429: without this they would
 * repeat one for credits that nothing refills.
 */
export function isRetryable({ code, nextRefillAtMs }: Verdict): boolean {
  return code === 'RATE_LIMITED' || nextRefillAtMs !== undefined;
}

/** The limit that a verdict shows as its own: the one that refused, else the default one. Of two, the one with less left. */
function shownLimit(limits: readonly LimitReport[]): LimitReport | undefined {
  let shown: LimitReport | undefined;
  for (const report of limits) {
    if (report.exceeded) return report;
    if (report.limit.name === DEFAULT_LIMIT_NAME && !(shown !== undefined && shown.remaining <= report.remaining))
      shown = report;
  }
  return shown;
}

/** The texts of a limit. Keys share their limits, so these are made once for each limit and kept with it. */
function wireOf(limit: AppliedLimit): LimitWire {
  return (limit.wire ??= makeWire(limit));
}

function makeWire({ name, limit, durationMs, async, ofIdentity }: AppliedLimit): LimitWire {
  const json = JSON.stringify(name);
  // A structured header is ASCII only: other characters are replaced.
  const quoted = `"${name.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`;
  const policy = `${quoted};q=${limit};w=${Math.ceil(durationMs / 1000)}`;
  const rateLimitHead = `${quoted};r=`;
  const shared = ofIdentity ? ',"shared":true' : '';
  return {
    ownHead: `,"ratelimit":{"limit":${limit},"remaining":`,
    itemHead: `{"name":${json},"limit":${limit},"duration":${durationMs},"remaining":`,
    keptEnd: `,"async":${async},"exceeded":false${shared}}`,
    exceededEnd: `,"async":${async},"exceeded":true${shared}}`,
    isAscii: isAscii(json),
    policy,
    rateLimitHead,
    linesHead: `ratelimit-policy: ${policy}\r\nratelimit: ${rateLimitHead}`,
  };
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
