import { AppError } from '../../core/errors.ts';
import type { AnswerContext } from '../answer/answer.ts';
import type { Endpoint } from '../routes/endpoint.ts';
import { CLIENT_PACKAGES, type ClientPackage, clientPackage } from './clientPackages.ts';

export const PACKAGES_PATH = '/sdk/';

interface Made {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/**
 * Hands out the packages of this version: those who use the service need nothing that somebody else may have published under its name. Each is
 * made for the first request, and kept.
 */
export class PackageSite {
  readonly #made = new Map<string, Promise<Made>>();

  /** The endpoint of a package; undefined: the path names none. */
  at(path: string): Endpoint | undefined {
    if (!path.startsWith(PACKAGES_PATH)) return undefined;
    const name = path.slice(PACKAGES_PATH.length);
    return { methods: ['GET'], answer: (request, _peer, context) => this.#answer(name, request, context) };
  }

  async #answer(name: string, request: Request, { requestId }: AnswerContext): Promise<Response> {
    const known = CLIENT_PACKAGES[name];
    if (known === undefined) {
      const names = Object.keys(CLIENT_PACKAGES).map((each) => PACKAGES_PATH + each);
      throw new AppError('NOT_FOUND', `There is no such package. This service has ${names.join(', ')}.`);
    }
    const { bytes, etag } = await this.#make(name, known);
    const headers = {
      'content-type': known.type,
      'cache-control': 'no-cache',
      etag,
      'x-content-type-options': 'nosniff',
      'keystile-request-id': requestId,
    };
    if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers });
    return new Response(bytes, { headers });
  }

  #make(name: string, known: ClientPackage): Promise<Made> {
    const before = this.#made.get(name);
    if (before !== undefined) return before;
    const making = made(name, known);
    this.#made.set(name, making);
    // A file that could not be read for an instant is read again.
    making.catch(() => this.#made.delete(name));
    return making;
  }
}

async function made(name: string, known: ClientPackage): Promise<Made> {
  const bytes = await clientPackage(name, known);
  return { bytes, etag: `"${new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 32)}"` };
}
