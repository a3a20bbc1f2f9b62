import { MAX_SMALL_BODY_BYTES } from '../../core/bounds.ts';
import { AppError } from '../../core/errors.ts';
import type { HeaderLookup, Service } from '../service.ts';
import { readJson, readJsonInSteps } from './jsonReader.ts';

function tooLarge(maxBytes: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `The body is too large. This route accepts at most ${maxBytes} bytes.`);
}

export function checkContentType(headers: HeaderLookup): void {
  const type = headers.get('content-type');
  // The usual value is compared first, because a regular expression is slower.
  if (type === 'application/json') return;
  if (type === null || !/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new AppError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: add the header "Content-Type: application/json".',
    );
  }
}

/** The value of a JSON body, and whether the body is large: what is done with it then gives way to others. */
export interface ReadBody {
  readonly value: unknown;
  readonly isLarge: boolean;
}

interface BodyReading {
  readonly maxBytes: number;
  /** In whose name a large body waits for its turn. */
  readonly client: string;
  /** Called before anything of the body is looked at. What it throws refuses the request. */
  readonly arrived?: (bytes: number) => void;
}

/**
 * Reads a JSON body. A large one waits for a turn of `client` before it is looked at, and gives way while it is read. Bytes that are not
 * UTF-8 are refused: replacement characters would be stored.
 */
export async function readJsonBody(
  { engine: { turns }, noise }: Service,
  request: Request,
  { maxBytes, client, arrived }: BodyReading,
): Promise<ReadBody> {
  const bytes = await readBytes(request, maxBytes);
  arrived?.(bytes.length);
  const isLarge = bytes.length > MAX_SMALL_BODY_BYTES;
  if (isLarge) await turns.wait(client, request.signal);
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new AppError('BAD_REQUEST', 'The body is not valid UTF-8.');
  }
  if (!isLarge) return { value: readJson(bytes, noise()), isLarge };
  return { value: await readJsonInSteps(bytes, noise(), () => turns.giveWay(client)), isLarge };
}

/** A declared length is checked before the body is read; otherwise reading stops at the limit. */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-length');
  if (Number(declared ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return declared === null ? readStream(request, maxBytes) : request.bytes();
}

/** The text of a small body. */
export function readBody(request: Request, maxBytes: number): Promise<string> {
  const declared = request.headers.get('content-length');
  if (declared === null) return readStream(request, maxBytes).then((bytes) => new TextDecoder().decode(bytes));
  if (Number(declared) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  return request.text();
}

/** Reads a body without a declared length, and keeps nothing past the limit. */
async function readStream(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const reader = (request.body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      await reader.cancel();
      throw tooLarge(maxBytes);
    }
    chunks.push(value);
  }
  return Buffer.concat(chunks);
}
