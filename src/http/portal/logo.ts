import { AppError } from '../../core/errors.ts';
import type { AnswerContext } from '../answer/answer.ts';
import type { Service } from '../service.ts';

const MAX_BYTES = 256 * 1024;
const TYPES: Readonly<Record<string, string>> = {
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
};

/** The picture of KEYSTILE_PORTAL_LOGO. Opened by itself, an SVG can run nothing. */
export async function readLogo({ config, log }: Service, { requestId }: AnswerContext): Promise<Response> {
  const path = config.portalLogo;
  const file = path === null ? null : Bun.file(path);
  if (file === null || !(await file.exists()) || file.size > MAX_BYTES) {
    if (file !== null) log.warn('KEYSTILE_PORTAL_LOGO is no file of at most 256 KiB', { path });
    throw new AppError('NOT_FOUND', 'There is no logo.');
  }
  return new Response(await file.bytes(), {
    headers: {
      'content-type': TYPES[path?.replace(/^.*\./, '').toLowerCase() ?? ''] ?? 'application/octet-stream',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=300',
      'keystile-request-id': requestId,
    },
  });
}
