import type { Outgoing, OutgoingRequest, SendOutcome } from '../engine/admin/webhooks/outgoing.ts';
import { post } from './post.ts';
import { signatures } from './signature.ts';
import { RefusedTarget, resolveTarget, type Target, type TargetRules } from './target.ts';

export interface OutgoingOptions extends TargetRules {
  /** For the whole request, from the lookup of the name to the answer. */
  readonly timeoutMs: number;
  /** For tests: when a request takes too long. */
  readonly timeout?: (milliseconds: number) => AbortSignal;
  readonly version: string;
  /** Certificates that are trusted instead of those of the machine. */
  readonly ca?: string;
}

/** Sends signed events over HTTP. */
export class HttpOutgoing implements Outgoing {
  readonly #options: OutgoingOptions;

  constructor(options: OutgoingOptions) {
    this.#options = options;
  }

  async refusal(url: string): Promise<string | null> {
    try {
      await resolveTarget(url, this.#options);
      return null;
    } catch (error) {
      if (error instanceof RefusedTarget) return error.message;
      throw error;
    }
  }

  /** The name is looked up and checked again at each try: what it leads to can change after the webhook was made. */
  async send(request: OutgoingRequest, signal: AbortSignal): Promise<SendOutcome> {
    const { timeoutMs, timeout = (milliseconds) => AbortSignal.timeout(milliseconds) } = this.#options;
    const ends = AbortSignal.any([signal, timeout(timeoutMs)]);
    try {
      const target = await unlessAborted(resolveTarget(request.url, this.#options), ends);
      return { status: await this.#post(target, request, ends) };
    } catch (error) {
      if (error instanceof RefusedTarget) return { failure: `The url ${error.message}.` };
      if (ends.aborted && !signal.aborted) return { failure: `There was no answer within ${timeoutMs} ms.` };
      return { failure: `The request failed (${failureOf(error)}).` };
    }
  }

  /** A name can have addresses that this machine does not reach, such as those of IPv6. Nothing was sent to an address that refused. */
  async #post(target: Target, request: OutgoingRequest, signal: AbortSignal): Promise<number> {
    const posting = { target, headers: this.#headers(request), body: request.body, signal, ca: this.#options.ca };
    const addresses = target.addresses.slice(0, MAX_ADDRESSES);
    for (const [i, address] of addresses.entries()) {
      try {
        return await post({ ...posting, address });
      } catch (error) {
        if (!isUnreached(error) || i === addresses.length - 1) throw error;
      }
    }
    throw new Error('the target has no address');
  }

  #headers({ id, timestampMs, body, secrets }: OutgoingRequest): Record<string, string> {
    const seconds = Math.floor(timestampMs / 1000);
    return {
      'content-type': 'application/json',
      'user-agent': `Keystile/${this.#options.version}`,
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': signatures({ id, seconds, body }, secrets),
    };
  }
}

/** A lookup cannot be stopped; nobody waits for it any longer. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(new Error('stopped'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Addresses of a target that are tried. */
const MAX_ADDRESSES = 4;
const UNREACHED = ['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'];

function isUnreached(error: unknown): boolean {
  return UNREACHED.includes((error as { code?: string }).code ?? '');
}

const MAX_FAILURE_LENGTH = 200;

function failureOf(error: unknown): string {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return (code || message.split('\n')[0] || 'unknown').slice(0, MAX_FAILURE_LENGTH);
}
