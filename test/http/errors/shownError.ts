import { expect } from 'bun:test';

import type { Answer } from '../../support/service.ts';

const SHOWN_HEADERS = ['www-authenticate', 'allow', 'retry-after', 'connection'];

function headersOf({ headers }: Answer): [name: string, value: string][] {
  return SHOWN_HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as [string, string]];
  });
}

/** An error as a snapshot keeps it: what differs from run to run is replaced. */
export function shownError(answer: Answer): object {
  const headers = headersOf(answer);
  return {
    status: answer.status,
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    ...(JSON.parse(withoutIds(answer.text)) as object),
  };
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
}

/**
 * A refusal as lines of text: status and code, message, issues, headers. An id that was sent is shown as its field, any
 * other id as `key_***`. What every error has besides is checked here.
 */
export function shownRefusal(answer: Answer, sent: unknown): string {
  const text = idsOf(sent).reduce((shown, [field, id]) => shown.replaceAll(id, `<${field}>`), answer.text);
  const { error, ...others } = JSON.parse(withoutIds(text)) as { error?: Refusal };
  if (error === undefined) return `${answer.status}, not refused`;
  const { code, message, issues, ...rest } = error;
  expect([others, rest]).toEqual([{}, { docs: `/docs/errors#${code}`, requestId: 'req_***' }]);
  return [
    `${answer.status} ${code}`,
    message,
    ...(issues ?? []).map((issue) => `- ${issue.path}: ${issue.message}`),
    ...headersOf(answer).map(([name, value]) => `${name}: ${value}`),
  ].join('\n');
}

const ID =
  /\b(req|key|api|rk|id|ws|perm|role|plan|ns|ovr|wh|evt|rsv)_[1-9A-HJ-NP-Za-km-z]{22}(?:[1-9A-HJ-NP-Za-km-z]{4})?\b/g;

export function withoutIds(text: string): string {
  return text.replaceAll(ID, '$1_***');
}

/** The ids in a body, each with its field. */
function idsOf(value: unknown, field = ''): [field: string, id: string][] {
  if (typeof value === 'string') return value.replace(ID, '') === '' && value !== '' ? [[field, value]] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => idsOf(inner, Array.isArray(value) ? field : name));
}
