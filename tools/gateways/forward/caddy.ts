import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from '../../cluster/ports.ts';
import { documented } from '../documented.ts';
import { findBinary, Running } from '../gateway.ts';
import { type ForwardGateway, type ForwardKind, type ForwardOptions, PAGE, withLine } from './kind.ts';

const binary = findBinary('caddy');

export const forwardCaddy: ForwardKind = {
  name: 'caddy',
  binary,
  install: 'apt-get install caddy',
  unreachable: 502,
  start,
};

/** Without the port of its administration. */
const GLOBAL = '{\n\tadmin off\n\tauto_https off\n}\n';

async function start({ nodePort, appPort, folder, rootKey }: ForwardOptions): Promise<ForwardGateway> {
  const port = freePort();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'Caddyfile');
  const site = documented(PAGE, 'caddyfile', [
    [':80 {', `http://:${port} {\nbind 127.0.0.1`],
    ['forward_auth 127.0.0.1:7878 {', `forward_auth 127.0.0.1:${nodePort} {`],
    ['reverse_proxy 127.0.0.1:3000', `reverse_proxy 127.0.0.1:${appPort}`],
    ...withLine(
      'copy_headers Keystile-Key-Id Keystile-External-Id Keystile-Remaining',
      rootKey === undefined ? null : `header_up Keystile-Root-Key ${rootKey}`,
    ),
  ]);
  writeFileSync(file, GLOBAL + site);
  // Caddy keeps its own files in these folders.
  const environment = ['env', `XDG_CONFIG_HOME=${folder}`, `XDG_DATA_HOME=${folder}`];
  const running = new Running([...environment, binary ?? 'caddy', 'run', '--config', file, '--adapter', 'caddyfile']);
  await running.listening(port);
  return { port, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}
