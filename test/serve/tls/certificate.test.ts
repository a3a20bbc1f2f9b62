import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';

import { CertificateProblem, checkCertificate, readTexts } from '../../../src/serve/tls/certificate.ts';
import { CertificateFiles } from '../../../src/serve/tls/certificateFiles.ts';
import { TempFolder } from '../../process/process.ts';
import { EXPIRED, ISSUED, PROTECTED_KEY, RENEWED } from '../../support/certificates.ts';
import { VirtualClock } from '../../support/clock.ts';
import { SELF_SIGNED } from '../../support/selfSigned.ts';

const NOW_MS = Date.parse('2027-03-01T00:00:00Z');
const DAY_MS = 86_400_000;

let folder: TempFolder;
beforeAll(() => (folder = new TempFolder()));
afterAll(() => folder[Symbol.dispose]());

/** Saves the two texts in files, and answers their paths. */
function save(texts: { cert: string; key: string }): { certPath: string; keyPath: string } {
  const paths = { certPath: folder.join('cert.pem'), keyPath: folder.join('key.pem') };
  writeFileSync(paths.certPath, texts.cert);
  writeFileSync(paths.keyPath, texts.key);
  return paths;
}

function problemOf(paths: { certPath: string; keyPath: string }, nowMs = NOW_MS): string {
  try {
    checkCertificate(paths, readTexts(paths), nowMs);
  } catch (error) {
    if (error instanceof CertificateProblem) return error.message.replaceAll(folder.path, '/tls');
    throw error;
  }
  return 'none';
}

const NO_CERTIFICATE =
  'The file /tls/cert.pem of KEYSTILE_TLS_CERT holds no certificate in PEM form, a text that begins with -----BEGIN CERTIFICATE-----. Set it to the certificate of the service, followed by those of its authorities.';
const NO_KEY =
  'The file /tls/key.pem of KEYSTILE_TLS_KEY holds no private key in PEM form, a text that begins with -----BEGIN PRIVATE KEY-----. Set it to the key that the certificate was issued for.';
const CHECK_PATH = 'Check the path, and that the user of the service may read it.';

describe('the files of a certificate', () => {
  test('are used when they belong together and are valid, also with a chain', () => {
    for (const good of [SELF_SIGNED, RENEWED, ISSUED]) expect(problemOf(save(good))).toBe('none');
    const { expiresAtMs } = checkCertificate(save(EXPIRED), EXPIRED, Date.parse('2020-06-01T00:00:00Z'));
    expect(expiresAtMs).toBe(Date.parse('2021-01-01T00:00:00Z'));
  });

  test.each([
    ['an empty certificate', { ...SELF_SIGNED, cert: '' }, NO_CERTIFICATE],
    ['a torn certificate', { ...SELF_SIGNED, cert: SELF_SIGNED.cert.slice(0, 300) }, NO_CERTIFICATE],
    ['a key as the certificate', { cert: SELF_SIGNED.key, key: SELF_SIGNED.key }, NO_CERTIFICATE],
    ['an empty key', { ...SELF_SIGNED, key: '' }, NO_KEY],
    ['a torn key', { ...SELF_SIGNED, key: SELF_SIGNED.key.slice(0, 100) }, NO_KEY],
    ['a certificate as the key', { cert: SELF_SIGNED.cert, key: SELF_SIGNED.cert }, NO_KEY],
    [
      'a key with a passphrase',
      { ...ISSUED, key: PROTECTED_KEY },
      'The key in /tls/key.pem (KEYSTILE_TLS_KEY) is protected by a passphrase. Save it without one: openssl pkey -in /tls/key.pem -out NEW_FILE',
    ],
    [
      'a key of another certificate',
      { cert: SELF_SIGNED.cert, key: RENEWED.key },
      'The key in /tls/key.pem (KEYSTILE_TLS_KEY) does not fit the certificate in /tls/cert.pem (KEYSTILE_TLS_CERT). Set both to files that belong together; the certificate of the service comes first in its file.',
    ],
    [
      'a torn chain',
      { ...ISSUED, cert: ISSUED.cert.slice(0, -200) },
      'The certificate in /tls/cert.pem (KEYSTILE_TLS_CERT) cannot be used (ERR_OSSL_PEM_BAD_END_LINE). Check that the file is complete, with every certificate after the first.',
    ],
    [
      'an expired certificate',
      EXPIRED,
      'The certificate in /tls/cert.pem (KEYSTILE_TLS_CERT) expired at 2021-01-01T00:00:00Z. Renew it, or check the clock.',
    ],
  ])('%s is told in one sentence that says what to do', (_name, texts, sentence) => {
    expect(problemOf(save(texts))).toBe(sentence);
  });

  test('a certificate of the future is told with the clock in mind', () => {
    expect(problemOf(save(EXPIRED), Date.parse('2019-01-01T00:00:00Z'))).toBe(
      'The certificate in /tls/cert.pem (KEYSTILE_TLS_CERT) is not valid before 2020-01-01T00:00:00Z. Check the clock, or wait.',
    );
  });

  test('what is no file, is missing or is huge is not read', () => {
    const paths = save(SELF_SIGNED);
    expect(problemOf({ ...paths, certPath: folder.join('none.pem') })).toBe(
      `The file /tls/none.pem of KEYSTILE_TLS_CERT cannot be read (ENOENT). ${CHECK_PATH}`,
    );
    mkdirSync(folder.join('folder'), { recursive: true });
    expect(problemOf({ ...paths, keyPath: folder.join('folder') })).toBe(
      `The file /tls/folder of KEYSTILE_TLS_KEY cannot be read (it is not a file). ${CHECK_PATH}`,
    );
    expect(problemOf({ ...paths, keyPath: '/dev/zero' })).toContain('(it is not a file)');
    writeFileSync(folder.join('huge.pem'), '');
    chmodSync(folder.join('huge.pem'), 0o600);
    truncateSync(folder.join('huge.pem'), (1 << 20) + 1);
    expect(problemOf({ ...paths, certPath: folder.join('huge.pem') })).toContain('(it is larger than 1 MiB)');
  });
});

describe('a renewal', () => {
  function open(texts: { cert: string; key: string }, startsAt: string | number = NOW_MS) {
    const clock = new VirtualClock(startsAt);
    const lines: string[] = [];
    const say = (message: string, fields: object = {}): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
    const log = { info: say, warn: say, error: say };
    const paths = save(texts);
    return { files: new CertificateFiles({ paths, nowMs: clock.nowMs, log }), clock, lines };
  }

  test('is used at the next look, and told once', () => {
    const { files, lines } = open(SELF_SIGNED);
    files.look();
    expect([files.inUse.cert, lines]).toEqual([SELF_SIGNED.cert, []]);
    save(RENEWED);
    files.look();
    files.look();
    expect(files.inUse.cert).toBe(RENEWED.cert);
    expect(lines.length).toBe(1);
    expect(lines[0]).toStartWith('new connections use the new certificate {"expires":"21');
  });

  test('with one file written before the other keeps the certificate in use until both are there', () => {
    const { files, lines } = open(SELF_SIGNED);
    save({ cert: RENEWED.cert, key: SELF_SIGNED.key });
    files.look();
    files.look();
    expect(files.inUse.cert).toBe(SELF_SIGNED.cert);
    expect(lines.length).toBe(1);
    expect(lines[0]).toStartWith(
      'the new certificate cannot be used; the previous one stays in use {"reason":"The key in',
    );
    save(RENEWED);
    files.look();
    expect(files.inUse.cert).toBe(RENEWED.cert);
  });

  test.each([
    ['torn', { ...RENEWED, cert: RENEWED.cert.slice(0, 200) }],
    ['expired', EXPIRED],
    ['empty', { cert: '', key: '' }],
  ])('that is %s is logged, and the certificate in use stays', (_name, texts) => {
    const { files, lines } = open(SELF_SIGNED);
    save(texts);
    files.look();
    expect([files.inUse.cert, lines.length]).toEqual([SELF_SIGNED.cert, 1]);
    save(SELF_SIGNED);
    files.look();
    save(texts);
    files.look();
    expect(lines.length).toBe(2);
  });

  test('is asked for in the log once, 14 days before the certificate expires', () => {
    const { files, clock, lines } = open(EXPIRED, Date.parse('2021-01-01T00:00:00Z') - 14 * DAY_MS - 1);
    files.look();
    expect(lines).toEqual([]);
    clock.advance(1);
    files.look();
    files.look();
    expect(lines).toEqual([
      'the certificate expires soon: renew it; the new files are used without a restart {"expires":"2021-01-01T00:00:00Z"}',
    ]);
  });
});
