import { isRecord, KeystileError } from './errors.js';
/** The methods of every endpoint, by group. */
export function makeGroups(calls, send) {
  const groups = {};
  for (const call of calls) {
    const group = (groups[call.group] ??= {});
    group[call.method] = (request = {}, options = {}) =>
      call.items === undefined ? sendOne(send, call, request, options) : allItems(send, call, request, options);
  }
  return groups;
}
function sendOne(send, { path, isRead }, body, { signal }) {
  return send({ path, body, isRepeatable: isRead, signal });
}
/** All items of a list, page by page: the next page is asked for when the last one is used up. */
async function* allItems(send, call, request, options) {
  let body = request;
  for (;;) {
    const page = await sendOne(send, call, body, options);
    const items = call.items === null ? page : isRecord(page) ? page[call.items ?? ''] : undefined;
    if (!Array.isArray(items)) throw noList(call.path);
    yield* items;
    const cursor = isRecord(page) ? page['cursor'] : undefined;
    // The last page has no cursor. An empty page with one would never end.
    if (typeof cursor !== 'string' || items.length === 0) return;
    body = { ...request, cursor };
  }
}
function noList(path) {
  const words = `The answer of ${path} contains no list. Check that the url is the address of Keystile itself, without a path.`;
  return new KeystileError('BAD_RESPONSE', words, { isCertainlyNotDone: true });
}
