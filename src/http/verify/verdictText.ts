import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';
import type { IdentityEntry, IdentityWireText } from '../../engine/cache/identityEntry.ts';
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
  const counted = remaining === null ? described : `${described},"remaining":${remaining}`;
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
  return identity === null || identity.isAscii;
}

/** Up to the request id, for each code. */
const HEADS = Object.fromEntries(
  VERDICT_CODES.map((code) => [code, `{"valid":${code === 'VALID'},"code":"${code}","requestId":"`]),
) as Readonly<Record<VerdictCode, string>>;

const NO_ACCESS = ',"permissions":[],"roles":[]';
const USUAL_END = `","meta":{},"enabled":true${NO_ACCESS}`;

/** A key with nothing of its own to describe. Its identity keeps what answers say of a usual key. */
function describedPlainly(begun: string, { id, enabled, expiresAtMs, identity }: KeyEntry): string {
  const named = `${begun}","keyId":"${id}`;
  if (enabled && expiresAtMs === Infinity) {
    return named + (identity === null ? USUAL_END : (identity.usualEnd ?? usualEndOf(identity)));
  }
  const owner = identity === null ? null : describeIdentity(identity);
  const expires = expiresAtMs === Infinity ? '' : `,"expires":${expiresAtMs}`;
  const described = `"${owner?.ownerId ?? ''},"meta":{}${expires},"enabled":${enabled}${NO_ACCESS}`;
  return named + described + (owner?.identity ?? '');
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

/** Made with the first answer that needs it, and kept with the identity. */
function describeIdentity(entry: IdentityEntry): IdentityWireText {
  if (entry.wire !== null) return entry.wire;
  const wire = partsOf(entry);
  entry.isAscii = isAscii(wire.ownerId) && isAscii(wire.identity);
  return (entry.wire = wire);
}

/** The same for the usual answer, in one piece. */
function usualEndOf(entry: IdentityEntry): string {
  const { ownerId, identity } = partsOf(entry);
  const text = `"${ownerId},"meta":{},"enabled":true${NO_ACCESS}${identity}`;
  // To read the text joins its pieces, once for all answers.
  entry.isAscii = isAscii(text);
  return (entry.usualEnd = text);
}

function partsOf(entry: IdentityEntry): IdentityWireText {
  const ownerId = `,"ownerId":${JSON.stringify(entry.externalId)}`;
  const identity = `,"identity":${JSON.stringify(toIdentityObject(entry))}`;
  return { ownerId, identity };
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
