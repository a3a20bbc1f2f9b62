import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from '../cluster/ports.ts';
import { until } from '../cluster/wait.ts';
import { VERSION } from '../../src/version.ts';

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
  const service = spawn([join(empty, 'node_modules/.bin/keystile'), 'serve', '--demo'], empty, settings);
  try {
    await until('the installed service is ready', async () => {
      return (await spawn(['npx', 'keystile', 'health'], empty, settings).exited) === 0;
    });
    const demo = await demoSettings(service.stdout);
    await watchDemo(empty, demo);
    await installSdk(folder, `${demo['KEYSTILE_URL']}/sdk/keystile-sdk-${VERSION}.tgz`);
  } finally {
    service.kill('SIGTERM');
    await service.exited;
  }
  if (service.exitCode !== 0) throw new Error(`keystile serve ended with exit code ${service.exitCode}.`);
}

/** The package has what the service hands out, and no sources of it. */
async function installSdk(folder: string, sdk: string): Promise<void> {
  const project = join(folder, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}');
  await run(['npm', 'install', '--no-audit', '--no-fund', sdk], project);
  await run(
    ['node', '-e', "import('@keystile/sdk').then(({ Keystile }) => new Keystile({ url: 'http://a.test' }))"],
    project,
  );
}

/** The settings of the last line, which a newcomer pastes. */
async function demoSettings(stdout: ReadableStream<Uint8Array>): Promise<Record<string, string>> {
  let printed = '';
  const decoder = new TextDecoder();
  for await (const chunk of stdout) {
    printed += decoder.decode(chunk, { stream: true });
    const [, url, rootKey] = /^ {2}KEYSTILE_URL=(\S+) KEYSTILE_ROOT_KEY=(\S+) .*keystile top$/m.exec(printed) ?? [];
    if (url !== undefined && rootKey !== undefined) return { KEYSTILE_URL: url, KEYSTILE_ROOT_KEY: rootKey };
  }
  throw new Error(`serve --demo ended, and had printed:\n${printed}`);
}

async function watchDemo(folder: string, settings: Record<string, string>): Promise<void> {
  const look = async (): Promise<number> => {
    const shown = await run(['npx', 'keystile', 'top', '--once', '--json'], folder, settings);
    return (JSON.parse(shown) as { status: { work: { verifications: number } } }).status.work.verifications;
  };
  const before = await look();
  await until('the numbers of keystile top move', async () => (await look()) > before);
}

async function run(command: string[], cwd: string, settings: Record<string, string> = {}): Promise<string> {
  const child = spawn(command, cwd, settings);
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
