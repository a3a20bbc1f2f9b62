import { AppError } from '../core/errors.ts';

function tooLarge(maxBytes: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `The body may have at most ${maxBytes} bytes here.`);
}

export function checkContentType(headers: Headers): void {
  const type = headers.get('content-type');
  if (type === null || !/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new AppError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: add the header "Content-Type: application/json".',
    );
  }
}

/** The text of a body that is known to fit before it is read, or that is read only as far as it may go. */
export function readBody(request: Request, maxBytes: number): Promise<string> {
  const declared = request.headers.get('content-length');
  if (declared === null) return readStream(request, maxBytes);
  if (Number(declared) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  return request.text();
}

/** A body without a declared length: nothing past the limit is kept. */
async function readStream(request: Request, maxBytes: number): Promise<string> {
  if (request.body === null) return '';
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
  return new TextDecoder().decode(Buffer.concat(chunks));
}
