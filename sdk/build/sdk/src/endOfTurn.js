/**
 * Runs after everything that is ready in this turn of the event loop, without a timer.
 *
 * Cloudflare Workers are different: each request has a context of its own, and a call of one request that answers another one fails. There
 * it runs after what is ready in this request.
 */
export function endOfTurn(run) {
  const { setImmediate, MessageChannel, navigator } = globalThis;
  if (navigator?.userAgent === 'Cloudflare-Workers') queueMicrotask(run);
  else if (setImmediate !== undefined) setImmediate(run);
  else if (MessageChannel !== undefined) afterMessage(new MessageChannel(), run);
  else queueMicrotask(run);
}
/** A message arrives in the next turn. Browsers have nothing else that does, but timers. */
function afterMessage({ port1, port2 }, run) {
  port1.onmessage = () => {
    port1.close();
    run();
  };
  port2.postMessage(null);
}
