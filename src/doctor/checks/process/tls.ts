import { isEncrypted } from '../../../config/exposure.ts';
import { defineCheck } from '../../check.ts';

export const tls = defineCheck({
  name: 'tls',
  meaning: 'Keys and root keys cross a network only encrypted.',
  severity: 'problem',
  needs: ['config'],
  find({ config }) {
    if (isEncrypted(config)) return null;
    return {
      text: `The service listens on ${config.host} without TLS: everyone on the way can read keys and root keys.`,
      fix: 'Set KEYSTILE_TLS_CERT and KEYSTILE_TLS_KEY. Or put a proxy with TLS in front, list it in KEYSTILE_TRUSTED_PROXIES and set KEYSTILE_PUBLIC_URL to its https:// address. In a network that you trust, set KEYSTILE_NETWORK=private.',
      command: 'KEYSTILE_HOST=127.0.0.1 keystile serve',
    };
  },
});
