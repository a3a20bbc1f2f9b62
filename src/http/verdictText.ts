import { VERDICT_CODES, type VerdictCode } from '../core/verdictCodes.ts';
import { DEFAULT_LIMIT_NAME } from '../core/records.ts';
import type { KeyEntry, WireText } from '../engine/keyEntry.ts';
import { type LimitReport, type Verdict } from '../engine/verdict.ts';
import { toIdentityObject } from './keyObject.ts';

/**
 * A verdict as JSON text, put together from strings: on this route building an object and writing it out costs more than
 * deciding (`npm run bench`). The descriptive part of a key is made once and kept with the cached key.
 */
export function verdictText(verdict: Verdict, requestId: string): string {
  const { code, key, remaining, limits } = verdict;
  const head = HEADS[code];
  if (key === null) return `${head}${requestId}","meta":{}}`;
  const described = isPlain(key) ? describePlain(key) : (key.wire ??= describe(key)).text;
  const counted = remaining === null ? '' : `,"remaining":${remaining}`;
  return `${head}${requestId}"${described}${counted}${limits === null ? '}' : limitsText(limits)}`;
}

/** How many bytes such a text is: counted only where it may be more than its characters. */
export function verdictBytes({ key, limits }: Verdict, text: string): number {
  let isOneEach = key === null || isPlain(key) || key.wire?.isAscii === true;
  if (limits !== null) for (const { name } of limits) isOneEach &&= textsOf(name).isAscii;
  return isOneEach ? text.length : Buffer.byteLength(text);
}

function isPlain({ extras, identity }: KeyEntry): boolean {
  return extras === null && identity === null;
}

/** Up to the request id, for each code. */
const HEADS = Object.fromEntries(
  VERDICT_CODES.map((code) => [code, `{"valid":${code === 'VALID'},"code":"${code}","requestId":"`]),
) as Readonly<Record<VerdictCode, string>>;

function describePlain(key: KeyEntry): string {
  if (key.enabled && key.expiresAtMs === Infinity) return `,"keyId":"${key.id}","meta":{},"enabled":true${NO_ACCESS}`;
  const expires = key.expiresAtMs === Infinity ? '' : `,"expires":${key.expiresAtMs}`;
  return `,"keyId":"${key.id}","meta":{}${expires},"enabled":${key.enabled}${NO_ACCESS}`;
}

const NO_ACCESS = ',"permissions":[],"roles":[]';

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
  let shownText = '';
  let text = '';
  for (const report of limits) {
    const { name, limit, remaining, resetAtMs, async, exceeded } = report;
    const numbers = `"limit":${limit},"remaining":${remaining},"reset":${resetAtMs}`;
    if (report === shown) shownText = `,"ratelimit":{${numbers}}`;
    text += `${text === '' ? '' : ','}{"name":${textsOf(name).json},${numbers},"async":${async},"exceeded":${exceeded}}`;
  }
  return `${shownText},"ratelimits":[${text}]}`;
}

/** The limit that refused, else the default one. */
export function shownLimit(limits: readonly LimitReport[]): LimitReport | undefined {
  let shown: LimitReport | undefined;
  for (const limit of limits) {
    if (limit.exceeded) return limit;
    if (shown === undefined && limit.name === DEFAULT_LIMIT_NAME) shown = limit;
  }
  return shown;
}

/** The name of a limit as it is written in JSON and in a structured header. */
export interface NameTexts {
  readonly json: string;
  readonly isAscii: boolean;
  readonly quoted: string;
}

const MAX_NAME_TEXTS = 1000;
const nameTexts = new Map<string, NameTexts>();
/** Most have but one, `default`: it is compared before anything is looked up. */
let [lastName, lastTexts] = [DEFAULT_LIMIT_NAME, makeTexts(DEFAULT_LIMIT_NAME)];

/** Installations have few names of limits: their texts are made once. */
export function textsOf(name: string): NameTexts {
  if (name === lastName) return lastTexts;
  const texts = nameTexts.get(name) ?? makeTexts(name);
  if (nameTexts.size >= MAX_NAME_TEXTS) nameTexts.clear();
  nameTexts.set(name, texts);
  [lastName, lastTexts] = [name, texts];
  return texts;
}

function makeTexts(name: string): NameTexts {
  // A structured header is ASCII only: the rest is replaced.
  const quoted = `"${name.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`;
  const json = JSON.stringify(name);
  return { json, isAscii: isAscii(json), quoted };
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
