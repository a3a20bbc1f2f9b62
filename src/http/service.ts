import { type Address, type AddressBlock, parseBlock, showAddress } from '../core/address.ts';
import { isSecretShaped } from '../core/secret.ts';
import type { Config } from '../config/variables.ts';
import type { Engine } from '../engine/engine.ts';
import type { Log } from '../log.ts';
import type { Digester } from '../system.ts';
import { callerAddress } from './clientAddress.ts';
import type { HttpMetrics } from './metrics.ts';
import { RequestIds } from './requestId.ts';

/** What the wire layer works with: the engine, and what is the same for every request. */
export interface Service {
  readonly engine: Engine;
  readonly config: Config;
  readonly digester: Digester;
  readonly metrics: HttpMetrics;
  readonly log: Log;
  readonly requestIds: RequestIds;
  /** The address that a request comes from, behind trusted proxies the one that they tell. */
  readonly addressOf: (request: Request, peerOf: PeerOf) => Address | null;
  /** The same as text. */
  readonly originOf: (request: Request, peerOf: PeerOf) => string | null;
  readonly monotonicMs: () => number;
  /** What the root key in the Authorization header may be stored under; empty when there is none. */
  readonly rootDigests: (headers: Headers) => readonly string[];
}

/** The address of the peer that sent a request. */
export type PeerOf = (request: Request) => string | null;

export type ServiceParts = Pick<Service, 'engine' | 'config' | 'digester' | 'metrics' | 'log' | 'monotonicMs'>;

export function makeService(parts: ServiceParts): Service {
  const trusted: readonly AddressBlock[] = (parts.config.trustedProxies ?? []).flatMap(
    (text) => parseBlock(text) ?? [],
  );
  const addressOf = (request: Request, peerOf: PeerOf): Address | null =>
    callerAddress(peerOf(request), request.headers.get('x-forwarded-for'), trusted);
  return {
    ...parts,
    requestIds: new RequestIds(parts.engine.system),
    addressOf,
    originOf: (request, peerOf) => {
      const address = addressOf(request, peerOf);
      return address === null ? null : showAddress(address);
    },
    rootDigests: (headers) => bearerDigests(headers.get('authorization'), parts.digester),
  };
}

function bearerDigests(authorization: string | null, digester: Digester): string[] {
  const secret = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  return secret === undefined || !isSecretShaped(secret) ? [] : [digester.digest(secret), ...digester.older(secret)];
}
