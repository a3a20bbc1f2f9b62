import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from '../cluster/ports.ts';
import { documented } from './documented.ts';
import { findBinary, type Gateway, type GatewayKind, type GatewayOptions, Running } from './gateway.ts';

const binary = findBinary('nginx');

export const nginx: GatewayKind = { name: 'nginx', binary, install: 'apt-get install nginx-light', start };

async function start({ nodePort, otherPort, folder, changes = [] }: GatewayOptions): Promise<Gateway> {
  const port = freePort();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'nginx.conf');
  const log = join(folder, 'access.log');
  const site = documented('http.md', 'nginx', [
    ['server 127.0.0.1:7878 ', `server 127.0.0.1:${nodePort} `],
    [
      '  server 127.0.0.1:7880 fail_timeout=1s;\n',
      otherPort === undefined ? '' : `  server 127.0.0.1:${otherPort} fail_timeout=1s;\n`,
    ],
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ...changes,
  ]);
  writeFileSync(file, fullConfiguration(site, folder, log));
  const running = new Running([binary ?? 'nginx', '-p', folder, '-c', file, '-e', join(folder, 'error.log')]);
  await running.listening(port);
  return {
    port,
    forwarded: async () => readFileSync(log, 'utf8').match(/:\d+ /g)?.length ?? 0,
    answersOf: async (port_) => readFileSync(log, 'utf8').split(`:${port_} 200\n`).length - 1,
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** The configuration around the documented block, with all files in one folder. The log has an address and a status for each answer of a node. */
export function fullConfiguration(site: string, folder: string, log: string): string {
  // Only root may set a user. Without this line, the workers of root could not write into the folder.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `${user}
daemon off;
worker_processes 2;
pid ${join(folder, 'nginx.pid')};
error_log ${join(folder, 'error.log')};
events { worker_connections 1024; }
http {
  ${temporary.map((name) => `${name}_temp_path ${join(folder, name)};`).join(' ')}
  log_format answers '$upstream_addr $upstream_status';
  access_log ${log} answers;
${site}
}
`;
}
