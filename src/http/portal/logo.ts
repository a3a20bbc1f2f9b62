import { AppError } from '../../core/errors.ts';
import type { Endpoint } from '../routes/endpoint.ts';
import type { Service } from '../service.ts';

const MAX_BYTES = 256 * 1024;
const TYPES: Readonly<Record<string, string>> = {
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
};

/** Answers the picture of KEYSTILE_PORTAL_LOGO. Opened by itself, an SVG can run nothing. */
export function logoEndpoint({ config, log }: Service): Endpoint {
  const path = config.portalLogo;
  // Anybody can ask for it: what is wrong is told once.
  let isTold = false;
  return {
    methods: ['GET'],
    async answer(_request, _peer, { requestId }) {
      const file = path === null ? null : Bun.file(path);
      if (file === null || !(await file.exists()) || file.size > MAX_BYTES) {
        if (file !== null && !isTold) log.warn('KEYSTILE_PORTAL_LOGO is no file of at most 256 KiB', { path });
        isTold = true;
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
    },
  };
}
