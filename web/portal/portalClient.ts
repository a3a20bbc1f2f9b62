import { signal } from '@preact/signals';

import { fetchAsPage, isExpired } from '../client.ts';
import type { Counts } from '../outcomes.ts';
import { errorOfBody } from '../../sdk/src/errors.ts';

/** How the provider wants the page to look. */
export interface Look {
  readonly name: string;
  readonly color: string;
  readonly hasLogo: boolean;
}

export interface Visit {
  readonly customer: {
    readonly externalId: string;
    readonly name?: string;
    readonly keys: number;
    readonly maxKeys?: number;
    readonly remaining?: number;
    readonly refill?: Refill;
    readonly ratelimits: readonly LimitUse[];
  };
  readonly plan?: {
    readonly name: string;
    readonly maxKeys?: number;
    readonly refill?: Refill;
    readonly ratelimits: readonly LimitUse[];
  };
  readonly allow: readonly ('create' | 'rotate' | 'delete')[];
  readonly returnUrl?: string;
  readonly endsAt: number;
}

interface Refill {
  readonly amount: number;
  readonly nextRefillAt?: number;
}

export interface LimitUse {
  readonly name: string;
  readonly limit: number;
  readonly duration: number;
  readonly used: number;
}

export interface PortalKey {
  readonly id: string;
  readonly start: string;
  readonly name?: string;
  readonly createdAt: number;
  readonly expires?: number;
  readonly enabled: boolean;
  readonly remaining?: number;
  readonly lastUsedAt?: number;
}

interface Answers {
  readonly listKeys: { readonly keys: readonly PortalKey[]; readonly total: number; readonly cursor?: string };
  readonly getUsage: { readonly days: readonly (Counts & { readonly time: number; readonly credits: number })[] };
  readonly createKey: { readonly keyId: string; readonly key: string };
  readonly rotateKey: { readonly keyId: string; readonly key: string };
  readonly deleteKey: object;
  readonly leave: object;
}

export const look = signal<Look | null>(null);
/** undefined: not asked yet. null: there is none. */
export const visit = signal<Visit | null | undefined>(undefined);

/** Why the page has ended, in the words of the service. */
export const endedBecause = signal('This page has expired.');

/** Asks the service about this customer. The session says which one it is. */
export async function call<N extends keyof Answers>(name: N, body: object = {}): Promise<Answers[N]> {
  return (await send(name, body)) as Answers[N];
}

/** Opens the link in the address, once, or finds the session of this browser. */
export async function begin(): Promise<void> {
  const token = new URLSearchParams(location.hash.slice(1)).get('open');
  // Before anything is sent: the token must not stay in the history.
  if (token !== null) history.replaceState(null, '', location.pathname);
  await load(token === null ? null : { token });
  isExpired.value = false;
}

/** Reads the customer again. */
export function refresh(): Promise<void> {
  return load(null);
}

async function load(opening: { readonly token: string } | null): Promise<void> {
  const answer = (await send('session', opening)) as { look: Look; visit: Visit | null };
  look.value = answer.look;
  visit.value = answer.visit;
}

/** `body` null: a GET. */
async function send(name: string, body: object | null): Promise<unknown> {
  const init =
    body === null
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetchAsPage(`/portal/${name}`, init).catch(() => null);
  if (answer === null) throw new Error('The service cannot be reached. Try again.');
  const read: unknown = await answer.json().catch(() => null);
  if (answer.ok) return read;
  const failure = errorOfBody(read, answer.status) ?? new Error('The service could not answer. Try again.');
  if (answer.status === 401) endedBecause.value = failure.message.split('. ')[0] + '.';
  throw failure;
}
