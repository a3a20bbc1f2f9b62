import { Pool } from 'pg';

import type { BareOrder } from './bare.ts';
import { readOrder, reportReady } from './child.ts';
import { secretOf } from './requests.ts';

export interface GuardedOrder extends BareOrder {
  readonly databaseUrl: string;
  readonly keys: number;
  /** The same number as a node uses. */
  readonly connections: number;
}

/**
 * Entry of a process: the simplest implementation of credits. It is the bare handler with one guarded UPDATE for each request,
 * over a pool. It knows the account of every key in advance and checks nothing else.
 */

const order = readOrder() as GuardedOrder;
const accounts = new Map<string, number>();
for (let number = 0; number < order.keys; number++) accounts.set(digestOf(secretOf(number)), number + 1);
const pool = new Pool({ connectionString: order.databaseUrl, max: order.connections });
const head = '{"valid":true,"remaining":';
const init = { headers: { ...order.headers } };
const UPDATE = {
  name: 'take',
  text: 'UPDATE accounts SET value = value - 1 WHERE id = $1 AND value >= 1 RETURNING value',
};

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  async fetch(request) {
    const { key } = (await request.json()) as { key: string };
    const { rows } = await pool.query<{ value: string }>({ ...UPDATE, values: [accounts.get(digestOf(key))] });
    const text = `${head}${rows[0]?.value}`;
    return new Response(`${text}${' '.repeat(Math.max(0, order.bodyBytes - text.length - 1))}}`, init);
  },
});
reportReady(server.port ?? 0);

function digestOf(secret: string): string {
  return Bun.SHA256.hash(secret, 'base64');
}
