import type { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { failed } from './cliError.ts';

/** How the certificate of a service on this machine is checked. */
export interface Trust {
  readonly ca: readonly string[];
  /** The name that the certificate must hold. */
  readonly serverName?: string;
}

/**
 * Trusts the service on this machine whose certificate is in this file. The command reaches it by an address such as 127.0.0.1, which few
 * certificates hold, so the service must prove a name of its certificate instead. A certificate that vouches for itself is trusted too.
 */
export function localTrust(certPath: string, url: string): Trust {
  const [text, certificate] = read(certPath);
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  // Loaded where there is a certificate: every command loads this file, and a fifth of its start would be these modules.
  const ca = [...process.getBuiltinModule('node:tls').getCACertificates('default'), text];
  const isNamed = certificate.checkIP(host) !== undefined || certificate.checkHost(host) !== undefined;
  const name = isNamed ? undefined : firstName(certificate);
  return name === undefined ? { ca } : { ca, serverName: name };
}

/** Like localTrust; null where the file cannot be used: then the certificate is checked like any other. */
export function tryLocalTrust(certPath: string | null | undefined, url: string): Trust | null {
  if (certPath == null) return null;
  try {
    return localTrust(certPath, url);
  } catch {
    return null;
  }
}

function read(certPath: string): [text: string, certificate: X509Certificate] {
  try {
    const text = readFileSync(certPath, 'utf8');
    const { X509Certificate } = process.getBuiltinModule('node:crypto');
    return [text, new X509Certificate(text)];
  } catch (error) {
    const { code } = error as { code?: unknown };
    throw failed(
      `The certificate of the service, ${certPath} (KEYSTILE_TLS_CERT), cannot be read (${typeof code === 'string' ? code : 'it is no certificate in PEM form'}).`,
      'Set KEYSTILE_URL to the https:// address of the service, with a name that its certificate holds.',
    );
  }
}

/** The first name of the certificate. A wildcard stands for any one label. */
function firstName({ subjectAltName }: X509Certificate): string | undefined {
  return /(?:^|, )DNS:([^,\s]+)/.exec(subjectAltName ?? '')?.[1]?.replace(/^\*\./, 'keystile.');
}
