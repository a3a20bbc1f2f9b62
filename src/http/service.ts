import type { Config } from '../config/variables.ts';
import {
  type Address,
  type AddressBlock,
  addressGroup,
  inBlock,
  parseAddress,
  parseBlock,
  showAddress,
} from '../core/address.ts';
import { base58Number } from '../basics/base58.ts';
import { ID_RANDOM_BYTES, makeId } from '../core/ids.ts';
import { isSecretShaped } from '../core/secret.ts';
import type { Engine } from '../engine/engine.ts';
import type { System } from '../engine/platform.ts';
import type { HttpMetrics } from './answer/metrics.ts';
import type { Tracer } from './answer/tracer.ts';
import { NOISE_NUMBERS } from './request/json.ts';
import type { Log } from '../log.ts';
import type { Digester } from '../bunPlatform.ts';

/** Whether the service goes on. */
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

/** Answers a request. The peer says which address it came from. */
export type Handler = (request: Request, peer: Peer) => Promise<Response>;

/** The sender of a request, as far as it is looked at. */
export interface Asking {
  readonly headers: HeaderLookup;
  readonly peer: Peer;
}

type ServiceContext = Pick<Service, 'engine' | 'config' | 'digester' | 'metrics' | 'log' | 'monotonicMs' | 'tracer'>;

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

/**
 * The address of the caller: the peer, or, if the peer is a trusted proxy, the last address in X-Forwarded-For that is not a
 * trusted proxy. The header of any other peer is ignored.
 */
export function callerAddress(
  peer: string | null,
  forwardedFor: string | null,
  trusted: readonly AddressBlock[],
): Address | null {
  const peerAddress = peer === null ? null : parseAddress(peer);
  if (peerAddress === null || forwardedFor === null || !isTrusted(peerAddress, trusted)) return peerAddress;
  for (const text of forwardedFor.split(',').toReversed()) {
    const address = parseAddress(text.trim());
    if (address === null || !isTrusted(address, trusted)) return address;
  }
  return peerAddress;
}

function isTrusted(address: Address, trusted: readonly AddressBlock[]): boolean {
  return trusted.some((block) => inBlock(address, block));
}

const COUNTER_WIDTH = 4;

/**
 * Creates request ids: a random id, renewed now and then, followed by a counter. They are unique like other ids, without new random
 * bytes for every verification.
 */
export class RequestIds {
  readonly #system: System;
  readonly #width: number;
  readonly #span: number;
  #base = '';
  #counter: number;

  constructor(system: System, width = COUNTER_WIDTH) {
    this.#system = system;
    this.#width = width;
    this.#span = 58 ** width;
    this.#counter = this.#span;
  }

  next(): string {
    if (this.#counter >= this.#span) {
      this.#base = makeId('req', this.#system.nowMs(), this.#system.randomBytes(ID_RANDOM_BYTES));
      this.#counter = 0;
    }
    return this.#base + base58Number(this.#counter++, this.#width);
  }
}
