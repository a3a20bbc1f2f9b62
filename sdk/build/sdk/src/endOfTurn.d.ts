/**
 * Runs after everything that is ready in this turn of the event loop, without a timer.
 *
 * Cloudflare Workers are different: each request has a context of its own, and a call of one request that answers another one fails. There
 * it runs after what is ready in this request.
 */
export declare function endOfTurn(run: () => void): void;
