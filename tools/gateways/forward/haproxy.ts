import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from '../../cluster/ports.ts';
import { documented } from '../documented.ts';
import { Running } from '../gateway.ts';
import { haproxy } from '../haproxy.ts';
import { type ForwardGateway, type ForwardKind, type ForwardOptions, PAGE, withLine } from './kind.ts';

export const forwardHaproxy: ForwardKind = {
  name: 'haproxy',
  binary: haproxy.binary,
  install: haproxy.install,
  unreachable: 503,
  start,
};

async function start({ nodePort, appPort, folder, rootKey }: ForwardOptions): Promise<ForwardGateway> {
  const port = freePort();
  mkdirSync(folder, { recursive: true });
  const [file, script] = [join(folder, 'haproxy.cfg'), join(folder, 'keystile.lua')];
  writeFileSync(
    script,
    documented(PAGE, 'lua', [
      ['http://127.0.0.1:7878/', `http://127.0.0.1:${nodePort}/`],
      ...withLine(
        '["x-forwarded-for"] = { txn.sf:src() },',
        rootKey === undefined ? null : `["keystile-root-key"] = { "${rootKey}" },`,
      ),
    ]),
  );
  writeFileSync(
    file,
    documented(PAGE, 'haproxy', [
      ['/etc/haproxy/keystile.lua', script],
      ['bind :80', `bind 127.0.0.1:${port}`],
      ['server orders1 127.0.0.1:3000', `server orders1 127.0.0.1:${appPort}`],
    ]),
  );
  const running = new Running([haproxy.binary ?? 'haproxy', '-db', '-f', file]);
  await running.listening(port);
  return { port, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}
