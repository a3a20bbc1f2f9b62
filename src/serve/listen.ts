import { FFIType, ptr } from 'bun:ffi';

import type { Config } from '../config/variables.ts';
import { isLoopback, LOOPBACK, parseBlock } from '../core/address.ts';
import { Front, type Certificates } from '../http/front/front.ts';
import { makeFrontContext } from '../http/router.ts';
import { AddressLimit, type ConnectionBounds, ConnectionLimit } from '../http/front/frontLimits.ts';
import { CONNECTION_TIMEOUT_SECONDS } from '../http/front/responder.ts';
import { type HostCheck, hostCheck } from '../http/request/body.ts';
import type { Service } from '../http/service.ts';
import { boundsWithoutLimit, openCLibrary } from './openFiles.ts';
import { type OuterGauges, readGauges } from './gauges.ts';
import { stopDelayOf } from './stopSignals.ts';

/** One address may have 1/ADDRESS_SHARE of all connections. */
const ADDRESS_SHARE = 4;
/** With this many, a proxy that is not listed as trusted still works, even if a low limit of open files allows few connections in all. */
const MIN_PER_ADDRESS = 100;
const METRICS_PATH = /^(?:http:\/\/[^/]*)?\/metrics(?:\?|$)/;
const DRAIN_POLL_MS = 10;
/** Time for connections to complete that clients asked for before newcomers were ignored. */
const HANDSHAKE_MS = 200;
/** Requests that are not answered after this time (a body that never ends) are cut off. */
export const DRAIN_MAX_MS = 10_000;

/** A server that listens. `port` is the real port, also if 0 was configured. */
export interface Listening {
  readonly port: number;
  /** Takes no new connections, answers what is in flight, then frees the port. */
  stop(): Promise<void>;
}

export interface ListeningApi extends Listening {
  connections(): number;
  /** Connections that were refused since the start, because there were too many. */
  refusals(): number;
  /** When the certificate in use expires. Null: plain HTTP. */
  certificateExpiresAtMs(): number | null;
}

/** With `certificates`, the service speaks only TLS. */
export function listenApi(
  service: Service,
  size = boundsWithoutLimit(service.config.maxConnections),
  certificates: Certificates | null = null,
): ListeningApi {
  const { host: hostname, port, tlsMinVersion: minTlsVersion } = service.config;
  const limit = new ConnectionLimit(size, addressLimit(service.config, size));
  const front = new Front({ hostname, port, certificates, minTlsVersion }, limit, makeFrontContext(service));
  return {
    port: front.port,
    connections: () => front.connections,
    refusals: () => limit.refused,
    certificateExpiresAtMs: () => certificates?.inUse.expiresAtMs ?? null,
    async stop() {
      // Without a stop delay there is no other node to ask, so clients would wait in vain.
      if (stopDelayOf(service.config) > 0 && ignoreNewcomers(front.descriptor)) await Bun.sleep(HANDSHAKE_MS);
      front.stopListening();
      await drained(() => front.inFlight);
      front.closeAll();
    },
  };
}

/** This machine and trusted proxies are exempt: they carry the connections of many clients. */
function addressLimit(
  { maxConnectionsPerAddress, trustedProxies }: Config,
  { connections }: ConnectionBounds,
): AddressLimit {
  const proxies = (trustedProxies ?? []).flatMap((text) => parseBlock(text) ?? []);
  const usual = Math.max(MIN_PER_ADDRESS, Math.ceil(connections / ADDRESS_SHARE));
  return new AddressLimit(maxConnectionsPerAddress ?? usual, [...LOOPBACK, ...proxies]);
}

/**
 * Waits until two checks in a row find nothing in flight: at the first one, a request may have arrived that is not read yet. Gives up after
 * DRAIN_MAX_MS.
 */
async function drained(inFlight: () => number): Promise<void> {
  let calmLooks = 0;
  for (let waitedMs = 0; waitedMs < DRAIN_MAX_MS; waitedMs += DRAIN_POLL_MS) {
    calmLooks = inFlight() > 0 ? 0 : calmLooks + 1;
    if (calmLooks === 2) return;
    await Bun.sleep(DRAIN_POLL_MS);
  }
}

export function listenMetrics(service: Service, gauges: () => OuterGauges | Promise<OuterGauges>): Listening {
  const { config } = service;
  const mayBeCalled = isLoopback(config.metricsHost) ? hostCheck(config.metricsHost, config.publicUrl) : () => {};
  const server = Bun.serve({
    hostname: config.metricsHost,
    port: config.metricsPort,
    idleTimeout: CONNECTION_TIMEOUT_SECONDS,
    development: false,
    reusePort: false,
    async fetch(request) {
      const wrong = wrongHost(request, mayBeCalled);
      if (wrong !== null) return new Response(`${wrong}\n`, { status: 400 });
      const isKnown =
        config.metricsToken === null || isToken(request.headers.get('authorization'), config.metricsToken);
      if (!isKnown) return new Response('The metrics need the token of KEYSTILE_METRICS_TOKEN.\n', { status: 401 });
      // Not parsed as a URL: without a Host, or with an unusual one, it is not a valid URL.
      if (!METRICS_PATH.test(request.url)) return new Response('Metrics are at /metrics.\n', { status: 404 });
      const text = service.metrics.text(await readGauges(service, gauges));
      return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });
    },
  });
  return {
    port: server.port ?? 0,
    async stop() {
      void server.stop(false);
      await drained(() => server.pendingRequests);
      await server.stop(true);
    },
  };
}

/** Why the metrics may not be requested under this Host. Null: they may. */
function wrongHost({ headers }: Request, mayBeCalled: HostCheck): string | null {
  try {
    mayBeCalled(headers.get('host') ?? 'localhost');
    return null;
  } catch (refusal) {
    return (refusal as Error).message;
  }
}

/** Compared by digest, so that the time of the comparison does not reveal where the tokens differ. */
function isToken(authorization: string | null, token: string): boolean {
  return Bun.SHA256.hash(authorization ?? '', 'hex') === Bun.SHA256.hash(`Bearer ${token}`, 'hex');
}

/** Constants of Linux. */
const [SOL_SOCKET, SO_ATTACH_FILTER] = [1, 26];

/** Instructions of a packet filter, which sees each packet from its TCP header on: code, two jumps, a number. */
const WITHOUT_SYN: readonly (readonly [code: number, ifSo: number, ifNot: number, number: number])[] = [
  // Load the flags.
  [0x30, 0, 0, 13],
  // If SYN is set, go to the next instruction, otherwise to the one after it.
  [0x45, 0, 1, 0x02],
  // Drop the packet.
  [0x06, 0, 0, 0],
  [0x06, 0, 0, 0xffff_ffff],
];

const [POINTER_AT, HEAD_BYTES, INSTRUCTION_BYTES] = [8, 16, 8];

/**
 * From now on the system drops packets that ask this listener for a connection. Connections that are already made can still be taken:
 * closing the listener would reset the waiting ones, with the requests in them. A client that asks meanwhile asks again after a second, and
 * is then refused.
 *
 * Returns false if this system cannot do that.
 */
export function ignoreNewcomers(descriptor: number): boolean {
  if (process.platform !== 'linux' || descriptor < 0) return false;
  const { i32, u32, ptr: pointer } = FFIType;
  const library = openCLibrary({ setsockopt: { args: [i32, i32, i32, pointer, u32], returns: i32 } });
  if (library === null) return false;
  // The number of instructions, their address, and then the instructions themselves.
  const program = Buffer.alloc(HEAD_BYTES + INSTRUCTION_BYTES * WITHOUT_SYN.length);
  program.writeUInt16LE(WITHOUT_SYN.length);
  program.writeBigUInt64LE(BigInt(ptr(program, HEAD_BYTES)), POINTER_AT);
  for (const [i, [code, ifSo, ifNot, number]] of WITHOUT_SYN.entries()) {
    const at = HEAD_BYTES + INSTRUCTION_BYTES * i;
    program.writeUInt16LE(code, at);
    program.set([ifSo, ifNot], at + 2);
    program.writeUInt32LE(number, at + 4);
  }
  return library.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, program, HEAD_BYTES) === 0;
}
