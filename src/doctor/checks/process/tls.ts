import { isLoopback } from '../../../core/address.ts';
import { defineCheck } from '../../check.ts';

export const tls = defineCheck({
  name: 'tls',
  meaning: 'Keys and root keys cross a network only encrypted.',
  severity: 'problem',
  needs: ['config'],
  find({ config: { host, publicUrl, trustedProxies } }) {
    const isEncrypted = publicUrl === null ? trustedProxies !== null : publicUrl.startsWith('https://');
    if (isLoopback(host) || isEncrypted) return null;
    return {
      text: `The service listens on ${host} without TLS: everyone on the way can read keys and root keys.`,
      fix: 'Put a proxy with TLS in front, list it in KEYSTILE_TRUSTED_PROXIES and set KEYSTILE_PUBLIC_URL to its https:// address. Or listen on 127.0.0.1.',
      command: 'KEYSTILE_HOST=127.0.0.1 keystile serve',
    };
  },
});
