import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { FILES, CODE, type Import, IMPORTS, TARGETS, folderImports, inCycles } from './importGraph.ts';

/** What both adapters are made from. */
const ADAPTER = ['storage/port', 'storage/sql'];

/**
 * Who may import whom; a part is a file or a folder, the longest that fits. `type:` allows types only. What is not in
 * the table (the composition root, the command line, serving) joins the parts and may import all of them.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  basics: [],
  core: ['basics', 'core'],
  model: ['basics', 'core', 'model', 'typebox'],
  'storage/port': ['basics', 'core', 'model', 'storage/port'],
  'storage/sql': ['basics', 'core', 'model', 'storage/port', 'storage/sql'],
  'storage/sqlite': [
    'basics',
    'core',
    'model',
    ...ADAPTER,
    'storage/sqlite',
    'bun:sqlite',
    'node:fs',
    'node:os',
    'node:path',
    'programFiles.ts',
  ],
  'storage/postgres': ['basics', 'core', 'model', ...ADAPTER, 'storage/postgres', 'pg', 'node:fs', 'node:net'],
  engine: ['basics', 'core', 'model', 'storage/port', 'engine'],
  http: [
    'basics',
    'core',
    'model',
    'engine',
    'http',
    'type:config',
    'type:log.ts',
    'type:bunPlatform.ts',
    'version.ts',
    'programFiles.ts',
    'typebox',
  ],
  config: ['basics', 'core', 'config'],
  doctor: [
    'basics',
    'core',
    'model',
    'config',
    'doctor',
    'http/answer/metrics.ts',
    'type:engine',
    'type:http',
    'node:fs',
  ],
  telemetry: ['telemetry', 'type:http/answer', 'type:log.ts', '@opentelemetry'],
  'log.ts': [],
  // Ciphers; randomness comes from the one file.
  'bunPlatform.ts': ['type:config', 'type:engine/platform.ts', 'type:engine/admin/webhookPorts.ts', 'node:crypto'],
  outgoing: [
    'basics',
    'core',
    'type:engine/admin/webhookPorts.ts',
    'outgoing',
    'node:net',
    'node:tls',
    'node:dns/promises',
  ],
  'programFiles.ts': [],
  'version.ts': ['../package.json'],
};

function covers(part: string, path: string): boolean {
  return path === part || path.startsWith(`${part}/`);
}

/** Folders that are sealed: from outside only these files of them may be imported. */
const ENTRY_POINTS: Readonly<Record<string, readonly string[]>> = {
  'engine/cache': ['engine/cache/entries.ts', 'engine/cache/keyCache.ts', 'engine/cache/keyCounts.ts'],
};

function breaksSeal({ from, to }: Import): boolean {
  return Object.entries(ENTRY_POINTS).some(
    ([folder, entries]) => covers(folder, to) && !covers(folder, from) && !entries.includes(to),
  );
}

function ruleFor(path: string): readonly string[] | null {
  const part = Object.keys(MAY_IMPORT)
    .filter((each) => covers(each, path))
    .sort((a, b) => a.length - b.length)
    .at(-1);
  return part === undefined ? null : (MAY_IMPORT[part] ?? null);
}

function isAllowed({ from, to, isTypeOnly }: Import): boolean {
  const rule = ruleFor(from);
  if (rule === null) return true;
  return rule.some((each) => (each.startsWith('type:') ? isTypeOnly && covers(each.slice(5), to) : covers(each, to)));
}

/** The lines of these files in which the pattern stands, as `path: line`. */
function uses(pattern: RegExp, isLookedAt: (path: string) => boolean): string[] {
  return FILES.filter(isLookedAt).flatMap((path) =>
    (CODE.get(path) ?? '')
      .split('\n')
      .filter((line) => pattern.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
}

const filesOf = (found: readonly string[]) => [...new Set(found.map((use) => use.split(':')[0] ?? ''))].sort();
const isPure = (path: string) => covers('core', path) || covers('engine', path);

describe('architecture', () => {
  test('the sources are read: every part of the table exists, and imports are found', () => {
    for (const part of Object.keys(MAY_IMPORT)) expect(FILES.some((path) => covers(part, path))).toBe(true);
    expect(IMPORTS).toContainEqual({ from: 'compose.ts', to: 'storage/sqlite/storage.ts', isTypeOnly: false });
    expect(IMPORTS).toContainEqual({ from: 'http/service.ts', to: 'bunPlatform.ts', isTypeOnly: true });
    const unresolved = IMPORTS.filter(({ to }) => to.endsWith('.ts') && !FILES.includes(to));
    expect(unresolved).toEqual([]);
  });

  test('the table can fail: an import against its direction is refused', () => {
    const forbidden = [
      { from: 'core/spend.ts', to: 'storage/port/storage.ts', isTypeOnly: true },
      { from: 'storage/port/storage.ts', to: 'engine/engine.ts', isTypeOnly: true },
      { from: 'engine/verify/verifier.ts', to: 'storage/sqlite/ledger/ledger.ts', isTypeOnly: true },
      { from: 'http/router.ts', to: 'bunPlatform.ts', isTypeOnly: false },
      { from: 'http/router.ts', to: 'storage/port/storage.ts', isTypeOnly: true },
      { from: 'core/ids.ts', to: 'node:crypto', isTypeOnly: false },
    ];
    expect(forbidden.filter(isAllowed)).toEqual([]);
  });

  test('imports go in one direction: core <- storage port <- engine <- http, and adapters know the port alone', () => {
    expect(IMPORTS.filter((each) => !isAllowed(each))).toEqual([]);
  });

  test('no file imports itself through others, not even for a type', () => {
    expect(inCycles(new Map(FILES.map((path) => [path, TARGETS.get(path) ?? []])))).toEqual([]);
    const circle = new Map([
      ['a.ts', ['b.ts']],
      ['b.ts', ['c.ts']],
      ['c.ts', ['b.ts']],
    ]);
    expect(inCycles(circle)).toEqual(['b.ts', 'c.ts']);
  });

  test('no folder imports itself through others: of two folders, one is the lower one', () => {
    expect(inCycles(folderImports(TARGETS))).toEqual([]);
    const around = new Map([
      ['engine/verify/verdict.ts', ['engine/cache/entries.ts']],
      ['engine/cache/packed/row.ts', ['engine/verify/verdict.ts']],
      ['engine/engine.ts', ['engine/cache/entries.ts']],
      ['engine/cache/entries.ts', ['engine/platform.ts']],
    ]);
    expect(inCycles(folderImports(around))).toEqual(['engine/cache', 'engine/verify']);
  });

  test('sealed folders are entered by their entry points: nobody else knows how the cache packs keys', () => {
    expect(IMPORTS.filter(breaksSeal)).toEqual([]);
    const around = {
      from: 'engine/analytics/openCounts.ts',
      to: 'engine/cache/keyRows.ts',
      isTypeOnly: true,
    };
    expect([around, { ...around, from: 'engine/cache/keyCache.ts' }].map(breaksSeal)).toEqual([true, false]);
    for (const entry of Object.values(ENTRY_POINTS).flat()) expect(FILES).toContain(entry);
    // An entry shows these two inside the cache alone.
    const sealed = /\b(accountsFrom|rowNumber)\b/;
    expect(uses(sealed, (path) => path === 'engine/cache/entries.ts').length).toBeGreaterThan(1);
    expect(uses(sealed, (path) => covers('engine', path) && !covers('engine/cache', path))).toEqual([]);
  });

  test('nothing but the composition root and what starts it knows SQLite', () => {
    const knowing = IMPORTS.filter(({ from, to }) => covers('storage/sqlite', to) && !covers('storage/sqlite', from));
    const roots = ['cli', 'serve', 'compose.ts'];
    expect(knowing.filter(({ from }) => !roots.some((root) => covers(root, from)))).toEqual([]);
    expect(filesOf(uses(/\b(SELECT|INSERT INTO|DELETE FROM|PRAGMA)\b/, (path) => !covers('storage', path)))).toEqual(
      [],
    );
  });

  test('http asks for a verdict in one place, and authenticates the caller in one place', () => {
    const inHttp = (path: string) => covers('http', path);
    expect(filesOf(uses(/\bverifier\.verify\(/, inHttp))).toEqual(['http/verify/verify.ts']);
    expect(filesOf(uses(/\bverifyAuth\b|\bverificationQuota\b/, inHttp))).toEqual(['http/verify/caller.ts']);
  });

  test('no private field of the PostgreSQL driver is used', () => {
    expect(uses(/\bprocessID\b|\.connection\b/, (path) => covers('storage/postgres', path))).toEqual([]);
  });

  test('core and engine use no Bun or Node API: they also run inside the SDK', () => {
    expect(uses(/\bBun\b|\bnode:|\bbun:|\bprocess\.|\bBuffer\b|\brequire\(/, isPure)).toEqual([]);
  });

  test('core and engine read no clock and no randomness, and set no timers', () => {
    const surroundings =
      /\bDate\.now\b|\bnew Date\(\)|\bperformance\b|\bMath\.random\b|\bcrypto\b|\bTemporal\.Now\b|\bset(Timeout|Interval|Immediate)\b/;
    expect(uses(surroundings, isPure)).toEqual([]);
  });

  test('core is synchronous', () => {
    expect(uses(/\basync\s+(function|\(|\w+\()|\bawait\b|\bPromise\b/, (path) => covers('core', path))).toEqual([]);
  });

  test('one file reads the real clock and randomness; others only measure how long a commit takes', () => {
    const reads =
      /\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bMath\.random\b|\bcrypto\b|\brandom(Bytes|UUID)\(|\bTemporal\.Now\b|\bBun\.nanoseconds\b|\bhrtime\b/;
    const real = uses(reads, (path) => path !== 'bunPlatform.ts' && !isPure(path));
    // The module that reads certificates is also that of randomness.
    const readsCertificates = (use: string): boolean =>
      /^\S+: (?:import(?: type)?|const) \{[^}]*\bX509Certificate\b/.test(use);
    const named = real.filter(
      (use) => !readsCertificates(use) && (!/\brandomBytes\(/.test(use) || /\bcrypto\b/.test(use)),
    );
    expect(named.filter((use) => !/\bperformance\.now\(\)/.test(use))).toEqual([]);
    expect(filesOf(named)).toEqual([
      'storage/sqlite/ledger/ledger.ts',
      'storage/sqlite/thread/thread.ts',
      'storage/sqlite/writer/commit.ts',
    ]);
  });

  test('timers run where they are known to', () => {
    expect(filesOf(uses(/\bset(Timeout|Interval|Immediate)\(|\bBun\.sleep(Sync)?\(/, () => true))).toEqual([
      'bunPlatform.ts',
      'cli/backup.ts',
      'cli/commands/top.ts',
      'cli/import/run.ts',
      'cli/openDatabase.ts',
      'http/router.ts',
      'serve/background.ts',
      'serve/demo.ts',
      'serve/gauges.ts',
      'serve/listen.ts',
      'serve/openTelemetry.ts',
      'serve/serve.ts',
      'storage/postgres/connection/connector.ts',
      'storage/postgres/connection/pool.ts',
      'storage/postgres/freshness/freshness.ts',
      'storage/postgres/ledger/committer.ts',
      'storage/postgres/ledger/ledger.ts',
      'storage/postgres/ledger/queue.ts',
      'storage/postgres/schema/migrate.ts',
      'storage/postgres/storage.ts',
      'storage/sqlite/accounts.ts',
      'storage/sqlite/ledger/commitQueue.ts',
      'storage/sqlite/writer/commit.ts',
      'storage/sqlite/writer/writer.ts',
    ]);
  });

  test('what listens and connects is known: no server of ours stands behind another one', () => {
    expect(filesOf(uses(/\bBun\.(serve|listen)\b(?!er)/, () => true))).toEqual([
      'cli/commands/webhook.listen.ts',
      'http/front/front.ts',
      'serve/listen.ts',
      'serve/openStorage.ts',
      'serve/tryPort.ts',
    ]);
    expect(
      uses(/\bBun\.connect\b|\bnode:(net|http)\b/, (path) => covers('http', path) || covers('serve', path)),
    ).toEqual([]);
  });

  test('only the command line reads the environment', () => {
    const readers = filesOf(uses(/\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b/, () => true));
    expect(readers.filter((path) => path !== 'main.ts' && !covers('cli', path))).toEqual([]);
  });

  test('folders say what the program does: none is called utils, helpers, common, manager or service', () => {
    const folders = new Set(FILES.flatMap((path) => dirname(path).split('/')));
    expect([...folders].filter((name) => /util|helper|common|manager|service|shared|misc/i.test(name))).toEqual([]);
  });

  test('there are no barrel files', () => {
    expect(FILES.filter((path) => /(^|\/)index\.ts$/.test(path))).toEqual([]);
    expect(uses(/^\s*export\s*\*/, () => true)).toEqual([]);
  });

  test('no test is left to run alone or passed over: it would hide all the others', () => {
    const tests = readdirSync(join(import.meta.dir, '..'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.test.ts'),
    );
    expect(tests.length).toBeGreaterThan(100);
    const marked = tests.filter((path) =>
      /\b(?:test|it|describe)\.(?:only|skip|todo|failing)\b/.test(
        readFileSync(join(import.meta.dir, '..', path), 'utf8'),
      ),
    );
    expect(marked).toEqual([]);
  });
});
