import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';

import { ISSUED } from '../support/certificates.ts';
import { SELF_SIGNED } from '../support/selfSigned.ts';
import { keystile, SILENT_PORT } from './cli/cliRun.ts';
import { examined } from './cli/doctorRun.ts';
import { PROGRAM, runToEnd, TempFolder } from './process.ts';
import { ROOT_KEY, Server } from './server.ts';

setDefaultTimeout(20_000);

const folder = new TempFolder();
const files = (name: string, { cert, key }: { cert: string; key: string }) => {
  const paths = { KEYSTILE_TLS_CERT: folder.join(`${name}.crt`), KEYSTILE_TLS_KEY: folder.join(`${name}.key`) };
  writeFileSync(paths.KEYSTILE_TLS_CERT, cert);
  writeFileSync(paths.KEYSTILE_TLS_KEY, key);
  return paths;
};
const SELF = files('self', SELF_SIGNED);
const OTHER = files('issued', ISSUED);

let server: Server;
const environment = { KEYSTILE_DATA: folder.join('data'), KEYSTILE_ROOT_KEY: ROOT_KEY };

beforeAll(async () => {
  server = await Server.start(folder, { settings: { ...SELF, KEYSTILE_DASHBOARD: 'on' } });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

describe('a service with a certificate', () => {
  test('says https in its banner, and signs browsers in with a Secure cookie', async () => {
    expect(server.url).toStartWith('https://127.0.0.1:');
    expect(server.child.stdout).toContain(`  Dashboard ${server.url}/dashboard`);
    const signedIn = await fetch(`${server.url}/dashboard/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: server.url, authorization: `Bearer ${ROOT_KEY}` },
      body: '{}',
      tls: { ca: SELF_SIGNED.cert },
    });
    expect(signedIn.status).toBe(200);
    expect(signedIn.headers.get('set-cookie')).toEndWith('; HttpOnly; SameSite=Strict; Secure');
  });

  test('is found by the command line: with its settings, and by the data folder alone', async () => {
    const port = String(server.port);
    for (const settings of [
      { KEYSTILE_PORT: port, ...SELF },
      { KEYSTILE_PORT: port },
      { KEYSTILE_PORT: SILENT_PORT },
    ]) {
      const ran = await keystile(['api', 'list'], { environment: { ...environment, ...settings } });
      expect(ran).toMatchObject({ code: 0, err: '' });
    }
  });

  test('tells of new files that cannot be used, while the certificate before stays in use', async () => {
    const settings = { ...environment, KEYSTILE_PORT: String(server.port), KEYSTILE_MAX_CONNECTIONS: '100' };
    writeFileSync(SELF.KEYSTILE_TLS_KEY, ISSUED.key);
    try {
      const found = await examined(settings);
      expect([found.code, found.with('problem')]).toEqual([1, ['certificate']]);
      expect(found.find('certificate')).toMatchObject({
        text: expect.stringMatching(
          /does not fit the certificate .* The previous certificate stays in use, and expires in/,
        ),
        command: `ls -l ${SELF.KEYSTILE_TLS_CERT} ${SELF.KEYSTILE_TLS_KEY}`,
      });
    } finally {
      writeFileSync(SELF.KEYSTILE_TLS_KEY, SELF_SIGNED.key);
    }
  });

  test('is asked under its public URL with NODE_EXTRA_CA_CERTS, and by nobody who does not trust it', async () => {
    const command = [...PROGRAM, 'api', 'list'];
    const settings = { KEYSTILE_URL: server.url, KEYSTILE_ROOT_KEY: ROOT_KEY };
    const trusting = { ...settings, NODE_EXTRA_CA_CERTS: SELF.KEYSTILE_TLS_CERT };
    expect(await runToEnd({ command, settings: trusting })).toMatchObject({ code: 0, stderr: '' });
    const refused = await keystile(['api', 'list'], { environment: settings });
    expect([refused.code, refused.err]).toEqual([
      1,
      `The certificate of ${server.url} is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT); nothing was sent. Set NODE_EXTRA_CA_CERTS to the file of the authority that issued it.\n`,
    ]);
  });

  test('is not asked when its certificate is for another name, or when the URL says http', async () => {
    const named = server.url.replace('127.0.0.1', 'localhost');
    const command = [...PROGRAM, 'api', 'list'];
    const settings = { KEYSTILE_ROOT_KEY: ROOT_KEY, NODE_EXTRA_CA_CERTS: SELF.KEYSTILE_TLS_CERT };
    expect((await runToEnd({ command, settings: { ...settings, KEYSTILE_URL: named } })).stderr).toBe(
      `The certificate of ${named} is for another name (ERR_TLS_CERT_ALTNAME_INVALID); nothing was sent. Set KEYSTILE_URL to a name that the certificate holds.\n`,
    );
    const plain = server.url.replace('https', 'http');
    expect((await keystile(['api', 'list'], { environment: { ...environment, KEYSTILE_URL: plain } })).err).toBe(
      `The request to ${plain} failed (ECONNRESET). It may have been carried out: check before you repeat it.\nIf the service speaks TLS, begin KEYSTILE_URL with https://.\n`,
    );
  });

  test('a plain server asked with https is told apart, and a certificate that is gone is named', async () => {
    using plain = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('hello') });
    const url = `https://127.0.0.1:${plain.port}`;
    expect((await keystile(['api', 'list'], { environment: { ...environment, KEYSTILE_URL: url } })).err).toBe(
      `${url} does not speak TLS (EPROTO); nothing was sent. Check whether KEYSTILE_URL must begin with http://.\n`,
    );
    const gone = { ...SELF, KEYSTILE_TLS_CERT: folder.join('gone.crt') };
    expect((await keystile(['api', 'list'], { environment: { ...environment, ...gone } })).err.split('\n')).toEqual([
      `The certificate of the service, ${folder.join('gone.crt')} (KEYSTILE_TLS_CERT), cannot be read (ENOENT).`,
      'Set KEYSTILE_URL to the https:// address of the service, with a name that its certificate holds.',
      '',
    ]);
  });

  test('that names another host is trusted on this machine by that name', async () => {
    using own = new TempFolder();
    const settings = { ...OTHER, KEYSTILE_PUBLIC_URL: 'https://keys.keystile.test' };
    await using named = await Server.start(own, { settings });
    expect(named.url).toBe('https://keys.keystile.test');
    const ran = await runToEnd({
      command: [...PROGRAM, 'api', 'list'],
      settings: {
        KEYSTILE_DATA: own.join('data'),
        KEYSTILE_PORT: SILENT_PORT,
        KEYSTILE_ROOT_KEY: ROOT_KEY,
        NODE_EXTRA_CA_CERTS: authority(),
      },
    });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
  });
});

function authority(): string {
  writeFileSync(folder.join('authority.crt'), ISSUED.authority);
  return folder.join('authority.crt');
}

describe('a start', () => {
  test('with a key that does not fit ends with code 78 and one sentence, and makes no data folder', async () => {
    const mixed = { ...SELF, KEYSTILE_TLS_KEY: OTHER.KEYSTILE_TLS_KEY };
    const { code, stdout, stderr } = await runToEnd({ settings: { ...mixed, KEYSTILE_DATA: folder.join('none') } });
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toStartWith(`The key in ${OTHER.KEYSTILE_TLS_KEY} (KEYSTILE_TLS_KEY) does not fit the certificate`);
    expect(await Bun.file(folder.join('none', 'keystile.db')).exists()).toBe(false);
  });

  test('names the flag of a file that cannot be used, where a flag named it', async () => {
    const gone = folder.join('gone.crt');
    const command = [...PROGRAM, 'serve', '--tls-cert', gone, '--data', folder.join('none')];
    const { code, stderr } = await runToEnd({ command, settings: { KEYSTILE_TLS_KEY: SELF.KEYSTILE_TLS_KEY } });
    expect(code).toBe(78);
    expect(stderr).toStartWith(`The file ${gone} of --tls-cert cannot be read (ENOENT). Check the path`);
  });

  test('on a public address warns of what everyone could do there, in the log and in the banner', async () => {
    using own = new TempFolder();
    await using open = await Server.start(own, { settings: { KEYSTILE_HOST: '0.0.0.0', KEYSTILE_STOP_DELAY: '0s' } });
    const tls = 'The service listens on 0.0.0.0 without TLS: everyone on the way can read keys and root keys.';
    const verify = 'The service listens on 0.0.0.0, and verifying needs no root key:';
    // Two outputs: both are whole when the process has gone.
    expect(await open.stop()).toBe(0);
    for (const words of [tls, verify]) {
      expect(open.child.stdout).toContain(`Warning: ${words}`);
      expect(open.child.stderr).toContain(`"level":"warn","message":"${words}`);
    }
  });
});
