import type { Config } from '../config/variables.ts';
import type { Log } from '../log.ts';
import { wallClockMs } from '../bunPlatform.ts';
import { CannotStart } from './exit.ts';
import { CertificateProblem } from './tls/certificate.ts';
import { CertificateFiles } from './tls/certificateFiles.ts';

/** The certificate that the configuration names. Null: the service speaks plain HTTP. A start with an unusable certificate is refused. */
export function openCertificates({ tlsCert, tlsKey }: Config, log: Log): CertificateFiles | null {
  if (tlsCert === null || tlsKey === null) return null;
  try {
    return new CertificateFiles({ paths: { certPath: tlsCert, keyPath: tlsKey }, nowMs: wallClockMs, log });
  } catch (error) {
    throw error instanceof CertificateProblem ? new CannotStart(error.message) : error;
  }
}
