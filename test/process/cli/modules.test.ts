import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import { PROJECT, runToEnd, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

/** What a command loads of the service: its schemas, its HTTP layer, its composition and the client of PostgreSQL. */
const SERVICE = ['node_modules/typebox', 'node_modules/pg', 'src/http', 'src/compose.ts'];

/** Runs a command, and names the parts of the service that it has loaded. */
async function loadedBy(
  folder: TempFolder,
  words: readonly string[],
  port: number,
  rootKey?: string,
): Promise<string[]> {
  const list = folder.join('modules');
  const main = ['--preload', join(import.meta.dir, 'loadedModules.ts'), join(PROJECT, 'src/main.ts')];
  const { code, stderr } = await runToEnd({
    command: [process.execPath, '--no-env-file', '--no-install', ...main, ...words],
    settings: {
      LOADED_MODULES: list,
      KEYSTILE_DATA: folder.join('data'),
      KEYSTILE_PORT: String(port),
      ...(rootKey === undefined ? {} : { KEYSTILE_ROOT_KEY: rootKey }),
    },
  });
  expect([code, stderr]).toEqual([0, '']);
  const modules = readFileSync(list, 'utf8').split('\n');
  const paths = modules.map((path) => relative(PROJECT, path));
  expect(paths).toContain('src/cli/cli.ts');
  return SERVICE.filter((part) => paths.some((path) => path === part || path.startsWith(`${part}/`)));
}

describe('a command loads the service only to run it in its own process', () => {
  test('the version and the help need no part of it', async () => {
    using folder = new TempFolder();
    expect(await loadedBy(folder, ['--version'], 0)).toEqual([]);
    expect(await loadedBy(folder, ['serve', '--help'], 0)).toEqual([]);
  });

  test('a command that a server answers needs no part of it; one that finds no server needs all but PostgreSQL', async () => {
    using folder = new TempFolder();
    let key = '';
    {
      await using server = await Server.start(folder);
      ({ key } = await server.createKey({}));
      expect(await loadedBy(folder, ['key', 'verify', key], server.port)).toEqual([]);
      expect(await loadedBy(folder, ['plan', 'list'], server.port, server.rootKey)).toEqual([]);
      // Found by the data folder, and through the control socket.
      expect(await loadedBy(folder, ['key', 'verify', key], 0)).toEqual([]);
      expect(await loadedBy(folder, ['root-key', 'list'], 0)).toEqual([]);
      expect(await server.stop()).toBe(0);
    }
    const withoutPostgres = SERVICE.filter((part) => part !== 'node_modules/pg');
    expect(await loadedBy(folder, ['key', 'verify', key], 0)).toEqual(withoutPostgres);
  });
});
