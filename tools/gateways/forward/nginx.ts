import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from '../../cluster/ports.ts';
import { documented } from '../documented.ts';
import { Running } from '../gateway.ts';
import { fullConfiguration, nginx } from '../nginx.ts';
import { type ForwardGateway, type ForwardKind, type ForwardOptions, PAGE, withLine } from './kind.ts';

export const forwardNginx: ForwardKind = {
  name: 'nginx',
  binary: nginx.binary,
  install: nginx.install,
  unreachable: 503,
  start,
};

async function start({ nodePort, appPort, folder, rootKey }: ForwardOptions): Promise<ForwardGateway> {
  const port = freePort();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'nginx.conf');
  const site = documented(PAGE, 'nginx', [
    ['server 127.0.0.1:7878;', `server 127.0.0.1:${nodePort};`],
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['proxy_pass http://127.0.0.1:3000;', `proxy_pass http://127.0.0.1:${appPort};`],
    ...withLine(
      'proxy_pass_request_body off;',
      rootKey === undefined ? null : `proxy_set_header Keystile-Root-Key ${rootKey};`,
    ),
  ]);
  writeFileSync(file, fullConfiguration(site, folder, join(folder, 'access.log')));
  const running = new Running([nginx.binary ?? 'nginx', '-p', folder, '-c', file, '-e', join(folder, 'error.log')]);
  await running.listening(port);
  return { port, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}
