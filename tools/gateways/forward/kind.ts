import type { Change } from '../documented.ts';
import type { Gateway } from '../gateway.ts';

/** The page with the configurations of forward authentication. */
export const PAGE = 'gateways.md';

/** A kind of gateway that asks Keystile before it forwards a request. */
export interface ForwardKind {
  readonly name: 'nginx' | 'haproxy' | 'caddy';
  /** Null: the gateway is not installed. */
  readonly binary: string | null;
  readonly install: string;
  /** What a client gets when the gateway cannot reach Keystile. */
  readonly unreachable: number;
  start(options: ForwardOptions): Promise<ForwardGateway>;
}

export interface ForwardOptions {
  readonly nodePort: number;
  /** The port of the service that is protected. */
  readonly appPort: number;
  readonly folder: string;
  /** The root key that the gateway sends. */
  readonly rootKey?: string;
}

export type ForwardGateway = Pick<Gateway, 'port' | typeof Symbol.asyncDispose>;

/** A line of the configuration with another one behind it. */
export function withLine(line: string, added: string | null): Change[] {
  return added === null ? [] : [[line, `${line}\n${added}`]];
}
