import { type Address, type AddressBlock, parseBlock, showAddress } from '../core/address.ts';
import { isSecretShaped } from '../core/secret.ts';
import type { Config } from '../config/variables.ts';
import type { Engine } from '../engine/engine.ts';
import type { System } from '../engine/system.ts';
import type { Log } from '../log.ts';
import type { Digester } from '../system.ts';
import { callerAddress } from './request/clientAddress.ts';
import { NOISE_NUMBERS, readJson } from './request/jsonReader.ts';
import type { HttpMetrics } from './answer/metrics.ts';
import { RequestIds } from './request/requestId.ts';

/** What the wire layer works with: the engine, and what is the same for every request. */
export interface Service {
  readonly engine: Engine;
  readonly config: Config;
  readonly digester: Digester;
  readonly metrics: HttpMetrics;
  readonly log: Log;
  readonly requestIds: RequestIds;
  /** The address that a request comes from, behind trusted proxies the one that they tell. */
  readonly addressOf: (asking: Asking) => Address | null;
  /** The same as text. */
  readonly originOf: (asking: Asking) => string | null;
  readonly monotonicMs: () => number;
  /** A body that may be large. */
  readonly readJson: (bytes: Uint8Array) => unknown;
  /** What the root key in the Authorization header may be stored under; empty when there is none. */
  readonly rootDigests: (headers: HeaderLookup) => readonly string[];
}

/** Headers, as far as anything here looks at them. */
export interface HeaderLookup {
  get(name: string): string | null;
}

/** The address of the peer that sent a request. */
export type Peer = () => string | null;

/** Who asks: what of a request is looked at beside its body. */
export interface Asking {
  readonly headers: HeaderLookup;
  readonly peer: Peer;
}

export type ServiceParts = Pick<Service, 'engine' | 'config' | 'digester' | 'metrics' | 'log' | 'monotonicMs'>;

export function makeService(parts: ServiceParts): Service {
  const trusted: readonly AddressBlock[] = (parts.config.trustedProxies ?? []).flatMap(
    (text) => parseBlock(text) ?? [],
  );
  const addressOf = ({ headers, peer }: Asking): Address | null =>
    callerAddress(peer(), headers.get('x-forwarded-for'), trusted);
  return {
    ...parts,
    requestIds: new RequestIds(parts.engine.system),
    addressOf,
    originOf: (asking) => {
      const address = addressOf(asking);
      return address === null ? null : showAddress(address);
    },
    readJson: jsonReading(parts.engine.system),
    rootDigests: (headers) => bearerDigests(headers.get('authorization'), parts.digester),
  };
}

/** The noise is drawn when the first body comes: a start does not wait for it. */
function jsonReading({ randomBytes }: System): Service['readJson'] {
  let noise: Uint32Array | null = null;
  return (bytes) => readJson(bytes, (noise ??= new Uint32Array(randomBytes(NOISE_NUMBERS * 4).slice().buffer)));
}

function bearerDigests(authorization: string | null, digester: Digester): string[] {
  const secret = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  return secret === undefined || !isSecretShaped(secret) ? [] : [digester.digest(secret), ...digester.older(secret)];
}
