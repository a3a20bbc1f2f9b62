import type { Seen } from './app.ts';

/**
 * Where the two servers may differ, with the reason. Everything else is a finding. `isMeant` looks at the first request
 * that one of them answers and the other one refuses.
 */
export interface Allowance {
  readonly name: string;
  readonly reason: string;
  isMeant(request: Seen): boolean;
}

/** The runtime answers it, the front refuses it with a status of 400 or more and closes. */
export const STRICTER: readonly Allowance[] = [
  {
    name: 'Content-Length given twice',
    reason: 'RFC 9112, 6.3 lets a server take equal ones; a gateway before it may have taken another one.',
    isMeant: ({ headers }) => /,/.test(headers['content-length'] ?? ''),
  },
  {
    name: 'no, an empty, a malformed or more than one Host',
    reason: 'RFC 9112, 3.2 asks for 400.',
    isMeant: ({ headers }) => !/^[\w.-]+(:\d{1,5})?$|^\[[\da-f:.]+\](:\d{1,5})?$/i.test(headers['host'] ?? ''),
  },
];

/** The front answers it, the runtime refuses it. */
export const WIDER: readonly Allowance[] = [];
