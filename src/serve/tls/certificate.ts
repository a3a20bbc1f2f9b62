import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';

import { CIPHERS, type ServerCertificate } from '../../http/front/front.ts';

/** No certificate chain is longer. This bounds what is read if the path names something else. */
const MAX_FILE_BYTES = 1 << 20;

/** The files that KEYSTILE_TLS_CERT and KEYSTILE_TLS_KEY name. */
export interface CertificatePaths {
  readonly certPath: string;
  readonly keyPath: string;
}

/** What the two files hold. */
export interface CertificateTexts {
  readonly cert: string;
  readonly key: string;
}

/** The state of a certificate. */
export interface CertificateState {
  /** When the certificate in use expires. Null: none is in use, because the files cannot be used. */
  readonly expiresAtMs: number | null;
  /** Why the files cannot be used, and what to do; null = they can. */
  readonly problem: string | null;
  /** The permission bits of the file with the key; null = unknown. */
  readonly keyMode: number | null;
}

/** The files cannot be used. The message tells the operator why, and what to do. */
export class CertificateProblem extends Error {
  override readonly name = 'CertificateProblem';
}

export function readTexts({ certPath, keyPath }: CertificatePaths): CertificateTexts {
  return { cert: readText(certPath, 'KEYSTILE_TLS_CERT'), key: readText(keyPath, 'KEYSTILE_TLS_KEY') };
}

/** Checks everything that would make clients refuse the certificate, except who issued it. */
export function checkCertificate(
  paths: CertificatePaths,
  { cert, key }: CertificateTexts,
  nowMs: number,
): ServerCertificate {
  const certificate = parseCertificate(paths.certPath, cert);
  const privateKey = parseKey(paths.keyPath, key);
  const file = `The certificate in ${paths.certPath} (KEYSTILE_TLS_CERT)`;
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new CertificateProblem(
      `The key in ${paths.keyPath} (KEYSTILE_TLS_KEY) does not fit the certificate in ${paths.certPath} (KEYSTILE_TLS_CERT). Set both to files that belong together; the certificate of the service comes first in its file.`,
    );
  }
  const [notBeforeMs, expiresAtMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (expiresAtMs <= nowMs)
    throw new CertificateProblem(`${file} expired at ${instant(expiresAtMs)}. Renew it, or check the clock.`);
  if (notBeforeMs > nowMs)
    throw new CertificateProblem(`${file} is not valid before ${instant(notBeforeMs)}. Check the clock, or wait.`);
  try {
    return { cert, key, expiresAtMs, context: createSecureContext({ cert, key, ciphers: CIPHERS }).context as object };
  } catch (error) {
    throw new CertificateProblem(
      `${file} cannot be used (${reasonOf(error)}). Check that the file is complete, with every certificate after the first.`,
    );
  }
}

/** What a start with these files would find. */
export function tryCertificate(paths: CertificatePaths, nowMs: number): CertificateState {
  const keyMode = keyModeOf(paths);
  try {
    return { expiresAtMs: checkCertificate(paths, readTexts(paths), nowMs).expiresAtMs, problem: null, keyMode };
  } catch (error) {
    if (!(error instanceof CertificateProblem)) throw error;
    return { expiresAtMs: null, problem: error.message, keyMode };
  }
}

/** Who may read the private key, as permission bits; null = unknown. */
export function keyModeOf({ keyPath }: CertificatePaths): number | null {
  try {
    return statSync(keyPath).mode & 0o777;
  } catch {
    return null;
  }
}

/** The instant as messages show it. */
export function instant(atMs: number): string {
  return new Date(atMs).toISOString().replace('.000Z', 'Z');
}

function readText(path: string, setting: string): string {
  try {
    const file = statSync(path);
    // A pipe or a device could block or never end.
    if (!file.isFile()) throw Object.assign(new Error(), { code: 'it is not a file' });
    if (file.size > MAX_FILE_BYTES) throw Object.assign(new Error(), { code: 'it is larger than 1 MiB' });
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CertificateProblem(
      `The file ${path} of ${setting} cannot be read (${reasonOf(error)}). Check the path, and that the user of the service may read it.`,
    );
  }
}

function parseCertificate(path: string, text: string): X509Certificate {
  try {
    if (text.includes('-----BEGIN CERTIFICATE-----')) return new X509Certificate(text);
  } catch {
    // Told below.
  }
  throw new CertificateProblem(
    `The file ${path} of KEYSTILE_TLS_CERT holds no certificate in PEM form, a text that begins with -----BEGIN CERTIFICATE-----. Set it to the certificate of the service, followed by those of its authorities.`,
  );
}

function parseKey(path: string, text: string): KeyObject {
  if (text.includes('ENCRYPTED')) {
    throw new CertificateProblem(
      `The key in ${path} (KEYSTILE_TLS_KEY) is protected by a passphrase. Save it without one: openssl pkey -in ${path} -out NEW_FILE`,
    );
  }
  try {
    if (text.includes('PRIVATE KEY-----')) return createPrivateKey(text);
  } catch {
    // Told below.
  }
  throw new CertificateProblem(
    `The file ${path} of KEYSTILE_TLS_KEY holds no private key in PEM form, a text that begins with -----BEGIN PRIVATE KEY-----. Set it to the key that the certificate was issued for.`,
  );
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: string };
  return typeof code === 'string' ? code : (message ?? String(error));
}
