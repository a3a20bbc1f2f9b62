import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from '../cluster/ports.ts';
import { until } from '../cluster/wait.ts';
import { documented } from './documented.ts';
import { findBinary, type Gateway, type GatewayKind, type GatewayOptions, Running } from './gateway.ts';

const binary = findBinary('haproxy');

export const haproxy = {
  name: 'haproxy',
  binary,
  install: 'apt-get install haproxy',
  start,
} as const satisfies GatewayKind;

export interface Haproxy extends Gateway {
  /** A column of HAProxy's statistics of a node, such as `status`. */
  statistic(column: string, server?: 'keystile1' | 'keystile2'): Promise<string>;
}

async function start({ nodePort, otherPort, folder, changes = [] }: GatewayOptions): Promise<Haproxy> {
  const port = freePort();
  mkdirSync(folder, { recursive: true });
  const [file, socket] = [join(folder, 'haproxy.cfg'), join(folder, 'stats')];
  const site = documented('http.md', 'haproxy', [
    ['bind :80', `bind 127.0.0.1:${port}`],
    ['server keystile1 127.0.0.1:7878', `server keystile1 127.0.0.1:${nodePort}`],
    [
      '  server keystile2 127.0.0.1:7880\n',
      otherPort === undefined ? '' : `  server keystile2 127.0.0.1:${otherPort}\n`,
    ],
    ...changes,
  ]);
  writeFileSync(file, `global\n  stats socket ${socket} mode 600 level user\n\n${site}`);
  const running = new Running([binary ?? 'haproxy', '-db', '-f', file]);
  await running.listening(port);
  // HAProxy opens the statistics socket after the port.
  await until('HAProxy has a statistics socket', () => existsSync(socket));
  const statistic = async (column: string, server = 'keystile1'): Promise<string> =>
    columnOf(await query(socket, 'show stat\n'), column, server);
  return {
    port,
    statistic,
    forwarded: async () => Number(await statistic('stot')),
    answersOf: async (asked) => Number(await statistic('hrsp_2xx', asked === nodePort ? 'keystile1' : 'keystile2')),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** Reads a column from the line of the node. */
function columnOf(table: string, column: string, server: string): string {
  const [names = '', ...rows] = table.replace(/^# /, '').split('\n');
  const index = names.split(',').indexOf(column);
  const row = rows.find((line) => line.startsWith(`keystile,${server},`));
  const value = row?.split(',')[index];
  if (index < 0 || value === undefined) throw new Error(`HAProxy reports no ${column} of the node:\n${table}`);
  return value;
}

async function query(unix: string, question: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let text = '';
  const socket = await Bun.connect({
    unix,
    socket: { data: (_socket, bytes) => void (text += bytes.toString('latin1')), close: () => resolve() },
  });
  socket.write(question);
  await promise;
  return text;
}
