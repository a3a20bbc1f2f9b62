import type { Call, CallOptions } from './call.ts';
import { isRecord, KeystileError } from './errors.ts';
import type { Groups } from './generated/api.ts';
import type { Sending } from './transport.ts';

type Send = (sending: Sending) => Promise<unknown>;

/** The methods of every endpoint, by group. */
export function makeGroups(calls: readonly Call[], send: Send): Groups {
  const groups: Record<string, Record<string, unknown>> = {};
  for (const call of calls) {
    const group = (groups[call.group] ??= {});
    group[call.method] = (request: object = {}, options: CallOptions = {}) =>
      call.items === undefined ? sendOne(send, call, request, options) : allItems(send, call, request, options);
  }
  return groups as unknown as Groups;
}

function sendOne(send: Send, { path, isRead }: Call, body: object, { signal }: CallOptions): Promise<unknown> {
  return send({ path, body, isRepeatable: isRead, signal });
}

/** All items of a list, page by page: the next page is asked for when the last one is used up. */
async function* allItems(send: Send, call: Call, request: object, options: CallOptions): AsyncGenerator {
  let body = request;
  for (;;) {
    const page = await sendOne(send, call, body, options);
    const items = call.items === null ? page : isRecord(page) ? page[call.items ?? ''] : undefined;
    if (!Array.isArray(items)) throw noList(call.path);
    yield* items as unknown[];
    const cursor = isRecord(page) ? page['cursor'] : undefined;
    // The last page has no cursor. An empty page with one would never end.
    if (typeof cursor !== 'string' || items.length === 0) return;
    body = { ...request, cursor };
  }
}

function noList(path: string): KeystileError {
  const words = `The answer of ${path} contains no list. Check that the url is the address of Keystile itself, without a path.`;
  return new KeystileError('BAD_RESPONSE', words, { isCertainlyNotDone: true });
}
