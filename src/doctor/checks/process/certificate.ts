import type { Config } from '../../../config/variables.ts';
import { CERTIFICATE_DUE_MS } from '../../../core/health.ts';
import { defineCheck, type Finding, lasting, quoted } from '../../check.ts';

export const certificate = defineCheck({
  name: 'certificate',
  meaning: 'The certificate of the service can be used, is valid for two more weeks, and its key is private.',
  severity: 'problem',
  needs: ['certificate', 'nowMs', 'config'],
  find({ certificate: state, nowMs, config }) {
    const { expiresAtMs, problem, keyMode } = state;
    const leftMs = expiresAtMs === null ? null : expiresAtMs - nowMs;
    if (problem !== null) return unusable(problem, leftMs, config);
    if (leftMs !== null && leftMs <= CERTIFICATE_DUE_MS) return due(leftMs, config);
    return keyMode !== null && (keyMode & 0o077) !== 0 ? open(keyMode, config) : null;
  },
});

/** `leftMs` of the certificate that is in use all the same; null = none is. */
function unusable(problem: string, leftMs: number | null, { tlsCert, tlsKey }: Config): Finding {
  const then =
    leftMs === null
      ? 'The service does not start with these files.'
      : `The certificate before stays in use, and ${leftMs > 0 ? `expires in ${lasting(leftMs)}` : 'has expired'}.`;
  return {
    text: `${problem} ${then}`,
    fix: 'Correct the files. A running service uses them without a restart; the log says so, or why not.',
    command: `ls -l ${quoted(tlsCert ?? '')} ${quoted(tlsKey ?? '')}`,
  };
}

function due(leftMs: number, { tlsCert }: Config): Finding {
  const text =
    leftMs > 0
      ? `The certificate of this node expires in ${lasting(leftMs)}. Clients then refuse to connect.`
      : `The certificate of this node expired ${lasting(-leftMs)} ago. Clients refuse to connect.`;
  return {
    text,
    fix: `Renew the certificate in ${tlsCert} (KEYSTILE_TLS_CERT). The new files are used without a restart; the log says so, or why not.`,
    command: `openssl x509 -noout -dates -in ${quoted(tlsCert ?? '')}`,
  };
}

function open(mode: number, { tlsKey }: Config): Finding {
  const who = (mode & 0o007) === 0 ? 'The group of the file' : 'Everyone on this machine';
  return {
    severity: 'advice',
    text: `${who} can read or change the private key ${tlsKey} (mode ${mode.toString(8)}).`,
    fix: 'Let only the user of the service read it.',
    command: `chmod 600 ${quoted(tlsKey ?? '')}`,
  };
}
