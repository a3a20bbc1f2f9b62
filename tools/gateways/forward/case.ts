import type { Answer } from '../client.ts';
import { Client } from '../client.ts';
import type { Node } from '../node.ts';
import { bare } from '../requests.ts';
import type { App } from './app.ts';
import type { ForwardGateway, ForwardKind } from './kind.ts';

/** The documented configurations protect this path. They ask for PERMISSION and take COST credits. */
export const PROTECTED = '/orders/1';
export const PERMISSION = 'orders.read';
export const COST = 2;

/** What a case works with: a gateway that asks a node, and the service behind it. */
export interface ForwardContext {
  readonly kind: ForwardKind;
  readonly gateway: ForwardGateway;
  readonly node: Node;
  readonly app: App;
  readonly newFolder: () => string;
}

export interface ForwardCase {
  readonly name: string;
  readonly run: (context: ForwardContext) => Promise<string>;
}

export interface Sent {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly string[];
  /** The address of the client. */
  readonly from?: string;
}

/** Sends one request on a connection of its own. */
export async function ask(port: number, key: string | null, sent: Sent = {}): Promise<Answer> {
  const { method = 'GET', target = PROTECTED, headers = [], from = '127.0.0.1' } = sent;
  const bearer = key === null ? [] : [`Authorization: Bearer ${key}`];
  using client = await Client.open(port, from);
  client.send(bare(`${method} ${target} HTTP/1.1`, ...bearer, ...headers));
  const answer = await client.answer(method === 'HEAD');
  if (answer === null) throw new Error('The gateway closed the connection without an answer.');
  return answer;
}

/** A key that may pass. */
export function createKey(node: Node, fields: Record<string, unknown> = {}): Promise<{ keyId: string; key: string }> {
  return node.server.createKey({ permissions: [PERMISSION], ...fields });
}
