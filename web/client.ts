import { computed, signal } from '@preact/signals';

import { Keystile } from '../sdk/src/keystile.ts';
import { holdsRight, holdsRightSomewhere, type Operation } from '../src/core/rights.ts';
import { KeystileError } from '../sdk/src/errors.ts';
import { reach } from './reach.ts';

/** Who is signed in. The browser has a cookie that scripts cannot read; it never has the root key. */
export interface Session {
  readonly sessionId: string;
  readonly rootKeyId: string;
  readonly name: string | null;
  readonly permissions: readonly string[];
  readonly version: string;
}

/** undefined: not asked yet. null: nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined);
/** The session has ended while a page was open. The page stays, with what was typed, until somebody signs in again. */
export const isExpired = signal(false);
/** Why the service could not say who is signed in; null = it could, or was not asked yet. */
export const startFailure = signal<unknown>(null);
/** The service was upgraded since this page was loaded. */
export const newVersion = signal<string | null>(null);

export const isSignedIn = computed(() => session.value !== null && session.value !== undefined);

/** Nobody has touched the page for this long: what it asks then does not keep the session alive. */
const IDLE_MS = 5 * 60_000;
let touchedAtMs = performance.now();
for (const type of ['pointerdown', 'pointermove', 'keydown'])
  addEventListener(type, () => (touchedAtMs = performance.now()), { passive: true });

/** Requests of this page say that they are: a session counts for nothing else. */
export async function fetchAsPage(input: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('keystile-page', performance.now() - touchedAtMs < IDLE_MS ? 'person' : 'idle');
  return reach(input, { ...init, headers });
}

export const TRANSPORT = { timeoutMs: 15_000, totalTimeoutMs: 20_000, retries: 1, fetch: fetchAsPage };

export const keystile = new Keystile({ url: location.origin, batch: false, ...TRANSPORT });

/** The right on this record; without an id, on at least one. */
export function may(operation: Operation, id?: string): boolean {
  const rights = session.value?.permissions ?? [];
  return id === undefined ? holdsRightSomewhere(rights, operation) : holdsRight(rights, operation, id);
}

/** What a webhook that is bound to these apis gets may be read; absent: all events. */
export function mayReadEventsOf(apiIds: readonly string[] = ['*']): boolean {
  return apiIds.every((apiId) => may('event.read_event', apiId));
}

/** Asks the service. When the session has ended, the sign-in form opens over the page and nothing is lost. */
export async function ask<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof KeystileError && error.code === 'UNAUTHORIZED') isExpired.value = true;
    throw error;
  }
}

/** Asks who is signed in. Throws when the service cannot say. */
export async function loadSession(): Promise<void> {
  const answer = await fetchAsPage('/dashboard/session').catch(() => null);
  if (answer === null) throw new Error('The service cannot be reached.');
  if (!answer.ok) throw new Error(`The service answers ${answer.status}, and cannot say who is signed in.`);
  remember(((await answer.json()) as { session: Session | null }).session);
}

/** With a root key, or with the token of a sign-in link. Throws an error with a message for the person who signs in. */
export async function signIn(by: { readonly rootKey: string } | { readonly token: string }): Promise<void> {
  const answer = await fetchAsPage('/dashboard/session', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...('rootKey' in by ? { authorization: `Bearer ${by.rootKey}` } : {}),
    },
    body: JSON.stringify('token' in by ? { token: by.token } : {}),
  }).catch(() => null);
  if (answer === null) throw new Error('The service cannot be reached.');
  const body = (await answer.json()) as { session: Session | null; error?: { message: string } };
  if (!answer.ok) throw new Error(body.error?.message ?? 'Signing in failed.');
  const check = (await (await fetchAsPage('/dashboard/session')).json()) as { session: Session | null };
  if (check.session === null) throw new Error('The browser did not keep the cookie. Allow cookies for this page.');
  remember(check.session);
}

export async function signOut(): Promise<void> {
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
  const answer = await fetchAsPage('/dashboard/signOut', request).catch(() => null);
  if (answer?.ok !== true) throw new Error('You are still signed in: the service cannot be reached. Try again.');
  session.value = null;
}

function remember(found: Session | null): void {
  const before = session.peek();
  // What was typed stays until somebody signs in again.
  if (before != null && found === null) {
    isExpired.value = true;
    return;
  }
  if (before != null && found !== null && before.version !== found.version) newVersion.value = found.version;
  session.value = found;
  isExpired.value = false;
}

/** What went wrong, in words. */
export function messageOf(error: unknown): string {
  if (error instanceof KeystileError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
