import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from '../cluster/ports.ts';
import { until } from '../cluster/wait.ts';

/** Packs the project, installs the package in an empty folder and runs it there, as a newcomer does. Throws what went wrong. */
export async function installPackage(project: string, folder: string): Promise<void> {
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const packed = await run(['npm', 'pack', '--json', '--pack-destination', folder], project);
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('['))) as [{ filename: string }];
  writeFileSync(join(empty, 'package.json'), '{"private":true}');
  await run(['npm', 'install', '--no-audit', '--no-fund', join(folder, filename)], empty);
  const settings = { KEYSTILE_PORT: String(freePort()), KEYSTILE_METRICS_PORT: '0' };
  // npx itself does not pass on how the program ended.
  const service = spawn([join(empty, 'node_modules/.bin/keystile'), 'serve'], empty, settings);
  try {
    await until('the installed service is ready', async () => {
      return (await spawn(['npx', 'keystile', 'health'], empty, settings).exited) === 0;
    });
  } finally {
    service.kill('SIGTERM');
    await service.exited;
  }
  if (service.exitCode !== 0) throw new Error(`keystile serve ended with exit code ${service.exitCode}.`);
}

async function run(command: string[], cwd: string): Promise<string> {
  const child = spawn(command, cwd);
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with exit code ${code}.\n${out}${err}`);
  return out;
}

function spawn(command: string[], cwd: string, settings: Record<string, string> = {}) {
  return Bun.spawn(command, { cwd, env: { ...process.env, ...settings }, stdout: 'pipe', stderr: 'pipe' });
}
