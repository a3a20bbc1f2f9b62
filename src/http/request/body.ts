import { AppError } from '../../core/errors.ts';
import type { HeaderLookup } from '../service.ts';

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

/** Refuses bytes that are not UTF-8. Otherwise replacement characters would be stored. */
export async function readBodyStrictly(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-length');
  if (Number(declared ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const bytes = declared === null ? await readStream(request, maxBytes) : await request.bytes();
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new AppError('BAD_REQUEST', 'The body is not valid UTF-8.');
  }
  return bytes;
}

/** The text of a body. A declared length is checked before the body is read; otherwise reading stops at the limit. */
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
