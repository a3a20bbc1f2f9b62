import { expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { keystile } from './cli/cliRun.ts';
import { TempFolder } from './process.ts';
import { Server } from './server.ts';

/** A data folder whose path is too long for a socket, and a folder for temporary files. */
class LongPath implements Disposable {
  readonly folder = new TempFolder();
  readonly data = this.folder.join(`${'a'.repeat(100)}/data`);
  readonly temporary = this.folder.join('tmp');

  constructor() {
    mkdirSync(this.temporary);
    mkdirSync(dirname(this.data));
  }

  start(): Promise<Server> {
    return Server.start(this.folder, { settings: { KEYSTILE_DATA: this.data, TMPDIR: this.temporary } });
  }

  get control(): string {
    return (JSON.parse(readFileSync(`${this.data}/owner.json`, 'utf8')) as { control: string }).control;
  }

  list() {
    return keystile(['root-key', 'list', '--data', this.data]);
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]();
  }
}

test('the control socket of a data folder with a long path is in a new folder for its user alone, which goes with the service', async () => {
  using at = new LongPath();
  await using server = await at.start();
  const { control } = at;
  expect(dirname(dirname(control))).toBe(at.temporary);
  expect([statSync(dirname(control)).mode & 0o777, statSync(control).mode & 0o777]).toEqual([0o700, 0o600]);
  expect((await at.list()).code).toBe(0);
  expect(await server.stop()).toBe(0);
  expect(readdirSync(at.temporary)).toEqual([]);
});

test('what a killed service has left is removed by the next start, and its name does not come again', async () => {
  using at = new LongPath();
  let former = '';
  {
    await using server = await at.start();
    former = at.control;
    await server.child.kill9();
  }
  // Nobody is at the name that comes next, because nobody knows it.
  mkdirSync(`${at.temporary}/keystile-control-other`, { mode: 0o700 });
  await using server = await at.start();
  expect(at.control).not.toBe(former);
  expect(existsSync(dirname(former))).toBe(false);
  expect(readdirSync(at.temporary)).toHaveLength(2);
  expect((await at.list()).code).toBe(0);
  expect(await server.stop()).toBe(0);
});

test('commands talk to no socket in a folder that others can change', async () => {
  using at = new LongPath();
  await using server = await at.start();
  chmodSync(dirname(at.control), 0o777);
  const { code, out } = await at.list();
  expect([code, out]).toEqual([1, '']);
  chmodSync(dirname(at.control), 0o700);
  expect((await at.list()).code).toBe(0);
  expect(await server.stop()).toBe(0);
});
