import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect as connectPlain } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';

import { AddressLimit, ConnectionLimit } from '../../../src/http/front/frontLimits.ts';
import { Front, type Handlers, secureHandlers, type ServerCertificate } from '../../../src/http/front/front.ts';
import { makeFrontContext } from '../../../src/http/router.ts';
import { listenApi, type ListeningApi } from '../../../src/serve/listen.ts';
import { checkCertificate } from '../../../src/serve/tls/certificate.ts';
import { ISSUED, RSA } from '../../support/certificates.ts';
import { SELF_SIGNED } from '../../support/selfSigned.ts';
import { TestService } from '../../support/service.ts';

const NOW_MS = Date.parse('2027-03-01T00:00:00Z');
const PATHS = { certPath: 'cert.pem', keyPath: 'key.pem' };
const FIRST = checkCertificate(PATHS, SELF_SIGNED, NOW_MS);
const SECOND = checkCertificate(PATHS, ISSUED, NOW_MS);

const GET = 'GET /v1/liveness HTTP/1.1\r\nHost: localhost\r\n\r\n';
const LAST = 'GET /v1/liveness HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

let service: TestService;
let server: ListeningApi;
const certificates: { inUse: ServerCertificate } = { inUse: FIRST };

beforeAll(async () => {
  service = await TestService.start({ settings: { KEYSTILE_PORT: '0' } });
  server = listenApi(service.composed.service, undefined, certificates);
});

afterAll(async () => {
  await server.stop();
  await service.close();
});

/** A client that has shaken hands. */
function client(port: number, options: ConnectionOptions = { ca: SELF_SIGNED.cert }): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const socket = connect({ host: '127.0.0.1', port, ...options }, () => resolve(socket));
  socket.once('error', reject);
  return promise;
}

/** Everything that comes until the connection closes. */
function heard(socket: TLSSocket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (more: string) => (text += more));
  socket.on('close', () => resolve(text));
  return promise;
}

const answersIn = (text: string): number => text.split('HTTP/1.1 200 OK').length - 1;

describe('the front over TLS', () => {
  test('answers as it does over plain HTTP: verifications, long answers, pipelined and last requests', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    const verified = await fetch(`https://127.0.0.1:${server.port}/v1/keys.verifyKey`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key }),
      tls: { ca: SELF_SIGNED.cert },
    });
    expect(await verified.json()).toMatchObject({ valid: true, remaining: 4 });
    const socket = await client(server.port);
    socket.write(GET.repeat(200) + LAST);
    expect(answersIn(await heard(socket))).toBe(201);
  });

  test('many verdicts with letters of more than one byte arrive whole, however the socket cuts them', async () => {
    const meta = { name: 'Grüße 😀 '.repeat(100) };
    const { key } = await service.createKey({ meta });
    const body = JSON.stringify({ key });
    const ask = (connection: string): string =>
      `POST /v1/keys.verifyKey HTTP/1.1\r\nHost: localhost\r\nConnection: ${connection}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const socket = await client(server.port);
    socket.write(ask('keep-alive').repeat(2_000) + ask('close'));
    const text = Buffer.from(await heard(socket), 'latin1').toString('utf8');
    expect(answersIn(text)).toBe(2_001);
    expect(text.split(JSON.stringify(meta)).length - 1).toBe(2_001);
  });

  test('answers that are longer than a socket takes at once arrive whole', async () => {
    const plain = await service.call('/openapi.json', undefined, { method: 'GET' });
    const socket = await client(server.port);
    const ask = 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n';
    // 8 MB. The client reads in this process, so it takes nothing while an answer is being written.
    socket.write(`${`${ask}\r\n`.repeat(15)}${ask}Connection: close\r\n\r\n`);
    const text = await heard(socket);
    expect(answersIn(text)).toBe(16);
    expect(text.split(plain.text).length - 1).toBe(16);
  });

  test('a client that ends its side still gets its answer', async () => {
    const socket = await client(server.port);
    socket.end(GET);
    expect(answersIn(await heard(socket))).toBe(1);
  });

  test('bytes that are no HTTP get 400, and plain HTTP gets nothing', async () => {
    const socket = await client(server.port);
    socket.write('hello\r\n\r\n');
    expect(await heard(socket)).toStartWith('HTTP/1.1 400 ');
    const { promise, resolve } = Promise.withResolvers<string>();
    let text = '';
    const plain = connectPlain(server.port, '127.0.0.1', () => plain.write(GET));
    plain.on('data', (more: Buffer) => (text += more.toString('latin1')));
    plain.on('error', () => {});
    plain.on('close', () => resolve(text));
    expect(await promise).not.toContain('HTTP');
  });

  test('speaks TLS 1.2 and 1.3, and no older version', async () => {
    const versions = ['TLSv1.2', 'TLSv1.3'] as const;
    for (const version of versions) {
      const socket = await client(server.port, { ca: SELF_SIGNED.cert, minVersion: version, maxVersion: version });
      expect(socket.getProtocol()).toBe(version);
      socket.destroy();
    }
    const old = client(server.port, { ca: SELF_SIGNED.cert, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
    expect(await old.catch((error: unknown) => String(error))).toContain('PROTOCOL_VERSION');
  });

  test('a new certificate, with its chain, is used for new connections; open ones stay', async () => {
    const before = await client(server.port);
    certificates.inUse = SECOND;
    const after = await client(server.port, { ca: ISSUED.authority, servername: 'keys.keystile.test' });
    certificates.inUse = FIRST;
    expect(after.authorized).toBe(true);
    expect(after.getPeerCertificate().subject.CN).toBe('keys.keystile.test');
    for (const socket of [before, after]) {
      socket.write(LAST);
      expect(answersIn(await heard(socket))).toBe(1);
    }
  });

  test.each([
    ['of all', 1, 100, 'This node has reached its limit of connections. Try again later.'],
    [
      'of its address',
      100,
      1,
      'Your address has reached its limit of connections (KEYSTILE_MAX_CONNECTIONS_PER_ADDRESS). Use fewer at a time.',
    ],
  ])(
    'a connection beyond the limit %s is told so after its handshake',
    async (_name, connections, ofAddress, words) => {
      const size = { connections, refusals: 5, firstReserved: Infinity };
      for (const secure of [certificates, null]) {
        const limit = new ConnectionLimit(size, new AddressLimit(ofAddress, []));
        const address = { hostname: '127.0.0.1', port: 0, certificates: secure, minTlsVersion: '1.2' as const };
        const front = new Front(address, limit, makeFrontContext(service.composed.service));
        const ask = (): Promise<Response> =>
          fetch(`${secure === null ? 'http' : 'https'}://127.0.0.1:${front.port}/v1/liveness`, {
            tls: { ca: SELF_SIGNED.cert },
            headers: { connection: 'close' },
          });
        const first = connectPlain(front.port, '127.0.0.1');
        await new Promise((resolve) => first.once('connect', resolve));
        const refused = await ask();
        expect([refused.status, limit.refused]).toEqual([503, 1]);
        expect(await refused.json()).toMatchObject({ error: { message: words } });
        first.destroy();
        front.stopListening();
        front.closeAll();
      }
    },
  );
});

describe('versions and suites', () => {
  const shaken = async (port: number, options: ConnectionOptions): Promise<string> => {
    try {
      const socket = await client(port, options);
      const { name } = socket.getCipher();
      const version = socket.getProtocol();
      socket.destroy();
      return `${version} ${name}`;
    } catch {
      return 'refused';
    }
  };

  test.each([
    ['RSA', RSA],
    ['ECDSA', SELF_SIGNED],
  ])(
    'of TLS 1.2 only suites with forward secrecy are offered, with a certificate of the kind %s',
    async (kind, texts) => {
      const inUse = checkCertificate(PATHS, texts, NOW_MS);
      const own = listenApi(service.composed.service, undefined, { inUse });
      const ofTls12 = (ciphers: string): Promise<string> =>
        shaken(own.port, { ca: texts.cert, maxVersion: 'TLSv1.2', ciphers });
      const suites = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map(
        (each) => `ECDHE-${kind}-${each}`,
      );
      for (const suite of suites) expect(await ofTls12(suite)).toBe(`TLSv1.2 ${suite}`);
      // The key exchange of RSA has none, and the others are old.
      const without = [
        'AES128-GCM-SHA256',
        'AES256-GCM-SHA384',
        'AES128-SHA',
        'AES256-SHA',
        `ECDHE-${kind}-AES128-SHA`,
      ];
      for (const suite of without) expect([suite, await ofTls12(suite)]).toEqual([suite, 'refused']);
      await own.stop();
    },
  );

  test('TLS 1.3 is spoken with whom can, and TLS 1.1 with nobody', async () => {
    const ca = SELF_SIGNED.cert;
    expect(await shaken(server.port, { ca })).toStartWith('TLSv1.3 TLS_');
    expect(await shaken(server.port, { ca, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })).toBe('refused');
  });

  test('KEYSTILE_TLS_MIN_VERSION=1.3 refuses TLS 1.2', async () => {
    const strict = {
      ...service.composed.service,
      config: { ...service.composed.service.config, tlsMinVersion: '1.3' as const },
    };
    const other = listenApi(strict, undefined, certificates);
    const versions = await Promise.all(
      (['TLSv1.2', 'TLSv1.3'] as const).map((maxVersion) => shaken(other.port, { ca: SELF_SIGNED.cert, maxVersion })),
    );
    expect(versions).toEqual(['refused', expect.stringMatching(/^TLSv1\.3 /)]);
    await other.stop();
  });
});

describe('a handshake', () => {
  /** A socket of the runtime, as far as the handlers use it. */
  function fakeSocket() {
    const did: string[] = [];
    const socket = {
      data: undefined as unknown,
      terminate: () => did.push('terminate'),
      timeout: () => did.push('timeout'),
      setKeyCert: (context: object) => did.push(context === FIRST.context ? 'first' : 'other'),
    };
    return { socket: socket as never, did };
  }

  function handlersFor(welcome: 'serve' | 'refuse' | 'drop') {
    const did: string[] = [];
    const name = (what: string) => (): void => void did.push(what);
    const plain: Handlers = {
      open: name('open'),
      data: name('data'),
      end: name('end'),
      drain: name('drain'),
      timeout: name('timed out'),
      close: name('closed'),
      error: name('error'),
    };
    const take = () => welcome;
    return { handlers: secureHandlers({ plain, certificates, take, refuse: name('refused') }), did };
  }

  test('that is not done in the time for a head is cut, and an idle connection after it is not', () => {
    const { handlers, did } = handlersFor('serve');
    const stalled = fakeSocket();
    void handlers.open?.(stalled.socket);
    void handlers.timeout?.(stalled.socket);
    expect([stalled.did, did]).toEqual([['first', 'terminate'], []]);
    const done = fakeSocket();
    void handlers.open?.(done.socket);
    handlers.handshake?.(done.socket, true, null);
    void handlers.timeout?.(done.socket);
    expect([done.did, did]).toEqual([['first', 'timeout'], ['timed out']]);
  });

  test('that fails is cut, and one too many is refused after it or dropped before it', () => {
    const failed = fakeSocket();
    const serving = handlersFor('serve').handlers;
    void serving.open?.(failed.socket);
    serving.handshake?.(failed.socket, false, null);
    expect(failed.did).toEqual(['first', 'terminate']);
    const refused = fakeSocket();
    const refusing = handlersFor('refuse');
    void refusing.handlers.open?.(refused.socket);
    expect(refusing.did).toEqual([]);
    refusing.handlers.handshake?.(refused.socket, true, null);
    expect(refusing.did).toEqual(['refused']);
    const dropped = fakeSocket();
    void handlersFor('drop').handlers.open?.(dropped.socket);
    expect(dropped.did).toEqual(['terminate']);
  });
});
