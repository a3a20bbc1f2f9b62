import { ACCEPT_UNSIGNED, trustOf } from '../copyTrust.ts';
import { failed, misused } from '../cliError.ts';
import type { Command } from '../command.ts';
import type { Flags } from '../flags.ts';
import type { Io } from '../io.ts';
import { dataRows, showBytes } from '../output/contents.ts';
import { jsonLine, record, showTime } from '../output/print.ts';
import { confirm, databaseOf, YES_FLAG } from '../prompt.ts';
import { readSettings, type Settings, STDIN } from '../settings.ts';
import { EXIT } from '../../serve/exit.ts';
import { AUTHENTICITY_WORDS } from '../../storage/sql/copySignature.ts';

export const dataExport: Command = {
  name: 'data export',
  dataFlags: ['data', 'database-url'],
  summary: 'Write everything in the database to a file that either kind of database can import.',
  description:
    'It reads the database itself: the data folder, or PostgreSQL if KEYSTILE_DATABASE_URL is set. The service may be running, except with --move. ' +
    'The export holds keys as digests, never as secrets.',
  operands: ['FILE'],
  operandMeaning: 'The file to create. - writes to standard output.',
  flags: {
    force: { value: null, meaning: 'Replace FILE if it is an export.' },
    move: {
      value: null,
      meaning: 'Export a stopped service, and keep it from starting again: the other service takes over.',
    },
  },
  examples: [
    'keystile data export keystile.ndjson',
    'keystile data export - --move | KEYSTILE_DATABASE_URL=postgres://db/keystile keystile data import -',
  ],
  async run({ io, flags, operands: [file = ''], isJson }) {
    const { config } = await readDataSettings(io, flags);
    const toOutput = file === STDIN;
    const moves = flags.has('move');
    if (toOutput && flags.has('force')) throw misused('--force replaces a file, and - is standard output.');
    const { exportData } = await LOAD_MOVE.exportData();
    const made = await exportData(io, { config, file: toOutput ? null : file, replaces: flags.has('force'), moves });
    const { exportId, takenAtMs, bytes, rows, wasMoved, encryptionKeyFile } = made;
    // Standard output is the export itself.
    const print = (text: string): void => (toOutput ? io.err(text) : io.out(text));
    const isSigned = config.copyKey !== null;
    const shown = { ...(toOutput ? {} : { file }), exportId, takenAt: takenAtMs, bytes, signed: isSigned, rows };
    if (isJson) print(jsonLine({ ...shown, ...(moves ? { wasMoved } : {}) }));
    else
      print(
        record([
          ['export', toOutput ? 'standard output' : file],
          ['taken', showTime(takenAtMs)],
          ['size', showBytes(bytes)],
          ['signed', isSigned ? 'yes, with KEYSTILE_COPY_KEY' : 'no: KEYSTILE_COPY_KEY is not set'],
          ...dataRows(rows),
        ]),
      );
    if (encryptionKeyFile !== null)
      io.err(
        `The signing secrets of webhooks are encrypted with a key that is not in the export. Give it to the new service: KEYSTILE_ENCRYPTION_KEY="$(cat ${encryptionKeyFile})"\n`,
      );
    if (config.pepper !== null)
      io.err('Keys are recognized only with the same KEYSTILE_PEPPER. It is not in the export.\n');
    if (moves) io.err(`The service was moved, and does not start again. ${next(wasMoved, toOutput)}\n`);
    return EXIT.OK;
  },
};

/** What to do after a move. */
function next(wasMoved: boolean, toOutput: boolean): string {
  // A pipe takes a small export also where the import has been refused already.
  const first = toOutput ? 'Check that the import succeeded' : 'Import the data';
  if (!wasMoved) return `${first} and start the new service, or go back with keystile data release.`;
  return (
    'An earlier export with --move had already moved it. If that one was finished too, use only one of the two: both have the same credits. ' +
    'Run keystile data release only if neither is used.'
  );
}

export const dataImport: Command = {
  name: 'data import',
  dataFlags: ['data', 'database-url'],
  summary: 'Fill a new data folder, or an empty PostgreSQL database, from an export.',
  description:
    'The target is the data folder, which must not exist, or the database of KEYSTILE_DATABASE_URL, which must be empty. ' +
    'On PostgreSQL, the same command continues an interrupted import of a file.',
  operands: ['FILE'],
  operandMeaning: 'The file that keystile data export made. - reads standard input.',
  flags: {
    accept: {
      value: null,
      meaning: 'Accept an export that was made without --move: credits that were spent later come back.',
    },
    ...ACCEPT_UNSIGNED,
  },
  examples: [
    'keystile data import keystile.ndjson --data /var/lib/keystile',
    'KEYSTILE_DATABASE_URL=postgres://db/keystile keystile data import keystile.ndjson --accept',
  ],
  async run({ io, flags, operands: [file = ''], isJson }) {
    const { config } = await readDataSettings(io, flags);
    const { importData } = await LOAD_MOVE.importData();
    const { header, trailer, resumedAfter, authenticity } = await importData(io, {
      config,
      file: file === STDIN ? null : file,
      acceptsUnsigned: trustOf(config, flags).acceptsUnsigned,
      accept: ({ isMove, takenAtMs }) => {
        if (!isMove && !flags.has('accept'))
          throw misused(`${whatComesBack(takenAtMs)} Nothing was changed. To import it, add --accept.`);
      },
    });
    const { installation, exportId, takenAtMs, engine } = header;
    const isAuthentic = authenticity === 'signed';
    if (isJson)
      io.out(
        jsonLine({
          installation,
          exportId,
          takenAt: takenAtMs,
          from: engine,
          authentic: isAuthentic,
          rows: trailer.rows,
        }),
      );
    else
      io.out(
        record([
          ['imported', config.databaseUrl === null ? config.data : 'PostgreSQL'],
          ['taken', `${showTime(takenAtMs)} from ${engine === 'sqlite' ? 'a data folder' : 'PostgreSQL'}`],
          ['origin', AUTHENTICITY_WORDS[authenticity]],
          ['resumed', resumedAfter === 0 ? undefined : `after line ${resumedAfter}`],
          ...dataRows(trailer.rows),
        ]),
      );
    if (!header.isMove) io.err(`${whatComesBack(takenAtMs)} Keep only one of the two services running.\n`);
    if ((trailer.rows['webhooks'] ?? 0) > 0 && config.encryptionKey === null)
      io.err('Webhooks need the KEYSTILE_ENCRYPTION_KEY of the installation that was exported.\n');
    return EXIT.OK;
  },
};

function whatComesBack(takenAtMs: number): string {
  return (
    `The export was made without --move at ${showTime(takenAtMs)}. Credits that were spent after that come back, ` +
    'and keys that were revoked after that are valid again.'
  );
}

export const dataRelease: Command = {
  name: 'data release',
  dataFlags: ['data', 'database-url'],
  summary: 'Let a service that was exported with --move start again.',
  description:
    'Only one of the two services may run. This one does not know what was spent or changed at the other, so the same credits could be spent again.',
  operands: [],
  flags: YES_FLAG,
  isDestructive: true,
  examples: ['keystile data release --yes'],
  async run(call) {
    const { io, flags, isJson } = call;
    const { config } = await readDataSettings(io, flags);
    const what = `Let the service on ${databaseOf(config)} spend again. The exported data must then never be used`;
    await confirm(call, 'data release', what);
    const { releaseMove } = await LOAD_MOVE.hold();
    if (!(await releaseMove(config))) throw failed('This database was not moved. Nothing was changed.');
    io.out(isJson ? jsonLine({ released: true }) : 'released\n');
    return EXIT.OK;
  },
};

/** Settings of a command on one database. Which one it is must not be in doubt. */
async function readDataSettings(io: Io, flags: Flags): Promise<Settings> {
  const settings = await readSettings(io, flags);
  if (flags.has('data') && settings.config.databaseUrl !== null)
    throw misused(
      '--data names a data folder, and KEYSTILE_DATABASE_URL names a PostgreSQL database. Leave one of them out.',
    );
  return settings;
}

/** What the commands on exports need: loaded when one of them runs, not for the help. */
const LOAD_MOVE = {
  exportData: () => import('../move/exportData.ts'),
  importData: () => import('../move/importData.ts'),
  hold: () => import('../move/hold.ts'),
};
