import { repeatable } from '../../core/errors.ts';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';

import type { Config } from '../../config/variables.ts';
import { EXIT } from '../../serve/exit.ts';
import { type Ask, usingService } from '../ask.ts';
import type { Call, Command } from '../command.ts';
import { failed, CliError, misused } from '../cliError.ts';
import type { Flags } from '../flags.ts';
import { readLines } from '../import/lines.ts';
import { BEGINNING, type Counts, Progress, StateFile, subjectOf } from '../import/state.ts';
import { FailureReport, importRows, KeySender } from '../import/run.ts';
import { type Format, readRows } from '../import/rows.ts';
import type { Io } from '../io.ts';
import { findService } from '../findService.ts';
import { loadRootKey } from '../secrets.ts';
import { readSettings, STDIN } from '../settings.ts';
import { jsonLine, record } from '../output/print.ts';

const EXTENSIONS: Readonly<Record<string, Format>> = { csv: 'csv', jsonl: 'jsonl', ndjson: 'jsonl', json: 'jsonl' };
/** The report of failed rows, when the keys come from standard input. */
const PIPE_REPORT = 'import.failed.jsonl';

export const importKeys: Command = {
  name: 'import',
  endpoint: 'migrations.createKeys',
  summary: 'Import keys of another system from CSV or JSON lines. The same command continues an interrupted import.',
  operands: ['FILE'],
  flags: {
    api: { value: 'ID', meaning: 'The api of rows that name none.' },
    'must-exist': {
      value: null,
      meaning: 'Refuse rows whose customer does not exist, instead of creating the customer.',
    },
    format: {
      value: 'csv|jsonl',
      meaning: 'The format of the file. Required for -, and when the file name does not show it.',
    },
  },
  examples: [
    'keystile import keys.csv --api api_1Jm8ZtXg3kPp5FhJ9sQw2R',
    'zcat keys.jsonl.gz | keystile import - --format jsonl',
  ],
  async run(call) {
    const { io, flags, isJson } = call;
    const [path = ''] = call.operands;
    if (path === STDIN && flags.text('root-key') === STDIN)
      throw misused(
        'The keys and the root key cannot both come from standard input. Set KEYSTILE_ROOT_KEY or KEYSTILE_ROOT_KEY_FILE.',
      );
    const format = toFormat(path, flags);
    if (path !== STDIN) checkReadable(path);
    const { config } = await readSettings(io, flags);
    const rootKey = await loadRootKey(io, config);
    const connection = await findService(config);
    const target = targetOf(config, connection.url);
    const done = await usingService(connection, rootKey, (ask) => importAll(call, ask, { path, format, target }));
    io.out(isJson ? jsonLine(summary(done)) : summaryText(done));
    if (done.counts.failed > 0 && !isJson) io.err(`${done.reportPath} lists the rows that failed, with the reason.\n`);
    return done.counts.failed === 0 ? EXIT.OK : EXIT.FAILED;
  },
};

interface Done {
  readonly counts: Counts;
  readonly reportPath: string;
}

async function importAll(
  { io, flags, isJson }: Call,
  ask: Ask,
  { path, format, target }: { path: string; format: Format; target: string },
): Promise<Done> {
  const isPipe = path === STDIN;
  const apiId = flags.text('api') ?? null;
  const mustExist = flags.has('must-exist');
  const state = isPipe
    ? null
    : new StateFile(`${path}.keystile-import`, subjectOf(path, { target, apiId, mustExist, format }));
  const from = state?.find() ?? BEGINNING;
  if (from.offset > 0 && !isJson) io.err(`Continuing after ${from.imported + from.present + from.failed} keys.\n`);
  state?.save(from);
  const report = new FailureReport(isPipe ? PIPE_REPORT : `${path}.failed.jsonl`, from.reportBytes);
  const progress = new Progress(isJson ? { ...io, err: () => {} } : io, isPipe ? null : statSync(path).size);
  const chunks = isPipe ? stdinOf(io) : Bun.file(path).stream();
  const rows = readRows(readLines(chunks, from.offset), { format, apiId, mustExist, skipTo: from.offset });
  try {
    const counts = await importRows(rows, { sender: new KeySender(ask, apiId), report, progress, state, from });
    state?.remove();
    return { counts, reportPath: report.path };
  } catch (error) {
    // No batch is complete, so there is no progress to continue from.
    if ((state?.find()?.offset ?? 0) > 0) throw withHint(error);
    state?.remove();
    throw error;
  } finally {
    progress.end();
    report.close();
  }
}

function withHint(error: unknown): unknown {
  if (!(error instanceof CliError)) return error;
  const hint = 'The import is not complete. Run the same command again to continue.';
  return new CliError(error.exitCode, [...error.lines, hint], error.details);
}

function toFormat(path: string, flags: Flags): Format {
  const given = flags.text('format');
  if (given === 'csv' || given === 'jsonl') return given;
  if (given !== undefined) throw misused(`--format must be csv or jsonl, got ${repeatable(given)}.`);
  const extension = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  const format = Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined;
  if (format === undefined)
    throw misused(
      `${path === STDIN ? 'Standard input' : `The file name ${JSON.stringify(path)}`} does not show a format. Give --format csv or --format jsonl.`,
    );
  return format;
}

function checkReadable(path: string): void {
  try {
    if (statSync(path).isFile()) return;
  } catch (error) {
    throw failed(`${path} cannot be read (${(error as { code?: string }).code ?? String(error)}).`);
  }
  throw failed(`${path} is not a file.`);
}

/** Identifies where the keys go: KEYSTILE_URL, or the address that was found with the path of the data folder. */
function targetOf({ url, data }: Config, foundUrl: string): string {
  return url ?? `${foundUrl} ${resolve(data)}`;
}

async function* stdinOf(io: Io): AsyncGenerator<Uint8Array> {
  if (io.streamStdin === undefined) yield new TextEncoder().encode(await io.readStdin());
  else yield* io.streamStdin();
}

function summary({ counts: { imported, present, failed: count }, reportPath }: Done): object {
  return { imported, present, failed: count, ...(count === 0 ? {} : { report: reportPath }) };
}

function summaryText({ counts }: Done): string {
  return record([
    ['imported', String(counts.imported)],
    ['already there', String(counts.present)],
    ['failed', String(counts.failed)],
  ]);
}
