import { type Address, type AddressBlock, addressGroup, parseBlock, showAddress } from '../core/address.ts';
import { isSecretShaped } from '../core/secret.ts';
import type { Config } from '../config/variables.ts';
import type { Engine } from '../engine/engine.ts';
import type { System } from '../engine/system.ts';
import type { Log } from '../log.ts';
import type { Digester } from '../system.ts';
import { callerAddress } from './request/clientAddress.ts';
import { NOISE_NUMBERS } from './request/jsonReader.ts';
import type { HttpMetrics } from './answer/metrics.ts';
import type { Tracer } from './answer/tracer.ts';
import { RequestIds } from './request/requestId.ts';

/** How long a service goes on. */
export interface Lifetime {
  /**
   * It was told to stop: it is not ready, and every answer is the last one of its connection. A client that sends without pause would keep the
   * process from stopping.
   */
  isStopping: boolean;
}

/** What the HTTP layer works with: the engine, and what is the same for every request. */
export interface Service {
  readonly engine: Engine;
  readonly config: Config;
  readonly digester: Digester;
  readonly metrics: HttpMetrics;
  readonly log: Log;
  readonly lifetime: Lifetime;
  readonly requestIds: RequestIds;
  /** The address that a request comes from. Behind trusted proxies, the one that they report. */
  readonly addressOf: (asking: Asking) => Address | null;
  /** The same as text. */
  readonly originOf: (asking: Asking) => string | null;
  /** The name under which a sender without a root key is counted and waits: its address; of IPv6, its /64 block. */
  readonly clientOf: (asking: Asking) => string;
  readonly monotonicMs: () => number;
  /** null = nothing is traced. */
  readonly tracer: Tracer | null;
  /** The random numbers that bodies are read with. */
  readonly noise: () => Uint32Array;
  /** The digests that the root key in the Authorization header may be stored under; empty when there is none. */
  readonly rootDigests: (headers: HeaderLookup) => readonly string[];
}

/** The headers of a request. */
export interface HeaderLookup {
  get(name: string): string | null;
}

/** The address of the peer that sent a request. */
export type Peer = () => string | null;

/** The sender of a request, as far as it is looked at. */
export interface Asking {
  readonly headers: HeaderLookup;
  readonly peer: Peer;
}

export type ServiceContext = Pick<
  Service,
  'engine' | 'config' | 'digester' | 'metrics' | 'log' | 'monotonicMs' | 'tracer'
>;

export function makeService(context: ServiceContext): Service {
  const trusted: readonly AddressBlock[] = (context.config.trustedProxies ?? []).flatMap(
    (text) => parseBlock(text) ?? [],
  );
  const addressOf = ({ headers, peer }: Asking): Address | null =>
    callerAddress(peer(), headers.get('x-forwarded-for'), trusted);
  return {
    ...context,
    lifetime: { isStopping: false },
    requestIds: new RequestIds(context.engine.system),
    addressOf,
    originOf: (asking) => {
      const address = addressOf(asking);
      return address === null ? null : showAddress(address);
    },
    clientOf: (asking) => {
      const address = addressOf(asking);
      return address === null ? 'unknown' : addressGroup(address);
    },
    noise: makeNoise(context.engine.system),
    rootDigests: (headers) => bearerDigests(headers.get('authorization'), context.digester),
  };
}

/** The random numbers are drawn for the first body, so that a start does not wait for them. */
function makeNoise({ randomBytes }: System): Service['noise'] {
  let noise: Uint32Array | null = null;
  return () => (noise ??= new Uint32Array(randomBytes(NOISE_NUMBERS * 4).slice().buffer));
}

function bearerDigests(authorization: string | null, digester: Digester): string[] {
  const secret = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  return secret === undefined || !isSecretShaped(secret) ? [] : [digester.digest(secret), ...digester.older(secret)];
}
