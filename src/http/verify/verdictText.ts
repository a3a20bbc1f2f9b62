import type { IdentityRecord } from '../../model/identities.ts';
import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';
import type { IdentityEntry, IdentityWireText, KeptIdentity } from '../../engine/cache/identityEntry.ts';
import type { KeyEntry, WireText } from '../../engine/cache/keyEntry.ts';
import type { ExplainedCheck } from '../../engine/verify/explainedCheck.ts';
import type { Verdict } from '../../engine/verify/verdict.ts';
import type { LimitReport } from '../../engine/verify/limitReports.ts';
import { toIdentityObject } from '../shapes/keys/keyObject.ts';
import { toExplainedObject } from '../shapes/keys/explanationObject.ts';
import { isAscii, shownLimit, wireOf } from './limitWire.ts';

/**
 * A verdict as JSON text. It is joined from strings: to build an object and to stringify it costs more than to decide
 * (`npm run bench`). The text that describes a key is made once and kept with the cached key. The text is joined from few
 * pieces, because the runtime keeps the pieces until the text is written.
 */
export function verdictText(verdict: Verdict, requestId: string): string {
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
export function withExplanation(text: string, explanation: readonly ExplainedCheck[]): string {
  return `${text.slice(0, -1)},"explanation":${JSON.stringify(explanation.map(toExplainedObject))}}`;
}

/** How many bytes such a text has. They are counted only when it may have characters of more than one byte. */
export function verdictBytes({ key, limits }: Verdict, text: string): number {
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
