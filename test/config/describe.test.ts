import { describe, expect, test } from 'bun:test';

import { exposures } from '../../src/config/describe.ts';
import { readConfig } from '../../src/config/read.ts';

/** What a start with these settings warns of: `tls`, `verify`. */
function warned(settings: Record<string, string>): string[] {
  const { config, problems } = readConfig({ environment: settings, flags: {}, readFile: () => '' });
  if (config === null) throw new Error(problems.join('\n'));
  return exposures(config).map((text) => (text.includes('without TLS') ? 'tls' : 'verify'));
}

const PUBLIC = { KEYSTILE_HOST: '0.0.0.0' };
const TLS = { KEYSTILE_TLS_CERT: 'cert.pem', KEYSTILE_TLS_KEY: 'key.pem' };
const REQUIRED = { KEYSTILE_VERIFY_AUTH: 'required' };

describe('a start warns', () => {
  test.each([
    ['of both on a public address', PUBLIC, ['tls', 'verify']],
    ['of both on an address of the network', { KEYSTILE_HOST: '192.168.1.5' }, ['tls', 'verify']],
    ['of nothing on this machine', { KEYSTILE_HOST: '127.0.0.1' }, []],
    ['of open verification only, with a certificate', { ...PUBLIC, ...TLS }, ['verify']],
    ['of TLS only, when verifying needs a root key', { ...PUBLIC, ...REQUIRED }, ['tls']],
    ['of nothing with both', { ...PUBLIC, ...TLS, ...REQUIRED }, []],
    ['of nothing in a private network', { ...PUBLIC, KEYSTILE_NETWORK: 'private' }, []],
    [
      'of open verification behind a proxy that ends TLS: it lets everyone through',
      { ...PUBLIC, KEYSTILE_PUBLIC_URL: 'https://keys.example' },
      ['verify'],
    ],
    ['of open verification behind a trusted proxy', { ...PUBLIC, KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' }, ['verify']],
    [
      'of both when the public address is plain HTTP',
      { ...PUBLIC, KEYSTILE_PUBLIC_URL: 'http://keys.example', KEYSTILE_TRUSTED_PROXIES: '10.0.0.1' },
      ['tls', 'verify'],
    ],
  ])('%s', (_name, settings, expected) => {
    expect(warned(settings)).toEqual(expected);
  });
});
