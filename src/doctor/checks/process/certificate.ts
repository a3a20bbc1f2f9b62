import { CERTIFICATE_DUE_MS } from '../../../core/health.ts';
import { defineCheck, lasting, quoted } from '../../check.ts';

export const certificate = defineCheck({
  name: 'certificate',
  meaning: 'The certificate of the service is valid for two more weeks.',
  severity: 'problem',
  needs: ['certificateExpiresAtMs', 'nowMs', 'config'],
  find({ certificateExpiresAtMs, nowMs, config }) {
    if (certificateExpiresAtMs === null || certificateExpiresAtMs - nowMs > CERTIFICATE_DUE_MS) return null;
    const leftMs = certificateExpiresAtMs - nowMs;
    const text =
      leftMs > 0
        ? `The certificate of this node expires in ${lasting(leftMs)}. Clients then refuse to connect.`
        : `The certificate of this node expired ${lasting(-leftMs)} ago. Clients refuse to connect.`;
    return {
      text,
      fix: `Renew the certificate in ${config.tlsCert} (KEYSTILE_TLS_CERT). The new files are used without a restart; the log says so, or why not.`,
      command: `openssl x509 -noout -dates -in ${quoted(config.tlsCert ?? '')}`,
    };
  },
});
