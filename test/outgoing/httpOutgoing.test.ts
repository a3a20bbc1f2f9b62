import { expect, test } from 'bun:test';

import { HttpOutgoing } from '../../src/outgoing/httpOutgoing.ts';
import { SELF_SIGNED } from '../support/selfSigned.ts';

const REQUEST = { id: 'evt_1', timestampMs: 1_700_000_000_123, body: '{"a":"é"}', secrets: ['whsec_AAAA'] };

function outgoing(ca?: string): HttpOutgoing {
  // Nothing listens at the first of them.
  const resolve = async () => ['127.0.0.2', '127.0.0.1'];
  return new HttpOutgoing({ allowsPrivate: true, resolve, timeoutMs: 60_000, version: '0', ...(ca ? { ca } : {}) });
}

test('over TLS, the connection goes to the address that was checked; the name is in the handshake, and its certificate must be trusted', async () => {
  const seen: string[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: { ...SELF_SIGNED, serverName: 'keystile.test' },
    fetch: async (request) => {
      seen.push(`${request.method} ${request.url} ${await request.text()}`);
      return new Response(null, { status: 202 });
    },
  });
  const url = `https://keystile.test:${server.port}/hook?a=1`;
  const { signal } = new AbortController();
  expect(await outgoing(SELF_SIGNED.cert).send({ ...REQUEST, url }, signal)).toEqual({ status: 202 });
  expect(seen).toEqual([`POST ${url} ${REQUEST.body}`]);
  // A certificate that nobody vouches for, and one for another name.
  expect(await outgoing().send({ ...REQUEST, url }, signal)).toEqual({
    failure: 'The request failed (DEPTH_ZERO_SELF_SIGNED_CERT).',
  });
  const other = url.replace('keystile.test', 'other.test');
  expect(await outgoing(SELF_SIGNED.cert).send({ ...REQUEST, url: other }, signal)).toEqual({
    failure: 'The request failed (ERR_TLS_CERT_ALTNAME_INVALID).',
  });
  expect(seen.length).toBe(1);
  await server.stop(true);
});

/** A target that says what it likes, without HTTP of its own. */
function speaking(speak: (socket: Bun.Socket) => void): Bun.TCPSocketListener {
  return Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: speak, drain: speak } });
}

test('answers of the kind 1xx come before the answer; a target that sends nothing else is cut off', async () => {
  const { signal } = new AbortController();
  const informational = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
  using once = speaking(
    (socket) => void socket.write(`${informational}HTTP/1.1 201 Created\r\n\r\n${'x'.repeat(50_000)}`),
  );
  expect(await outgoing().send({ ...REQUEST, url: `http://keystile.test:${once.port}/` }, signal)).toEqual({
    status: 201,
  });
  // What did not fit goes on where it was cut.
  let rest = '';
  using endless = speaking((socket) => {
    rest = rest.slice(socket.write(rest));
    while (rest === '') rest = informational.slice(socket.write(informational));
  });
  expect(await outgoing().send({ ...REQUEST, url: `http://keystile.test:${endless.port}/` }, signal)).toEqual({
    failure: 'The request failed (the answer is not HTTP).',
  });
});
