import { EXIT } from '../../../serve/exitCodes.ts';
import { misused } from '../../cliError.ts';
import type { Command } from '../../command.ts';
import { LOAD_MOVE } from './loadMove.ts';
import { contentRows } from '../../output/dataShown.ts';
import { showBytes } from '../../output/backupShown.ts';
import { jsonLine, record, showTime } from '../../output/show.ts';
import { STDIN } from '../../settings.ts';
import { readDataSettings } from './dataSettings.ts';

export const dataExport: Command = {
  name: 'data export',
  dataFlags: ['data', 'database-url'],
  summary: 'Write everything in the database to a file that either kind of database can import.',
  description:
    'It reads the database itself: the data folder, or PostgreSQL where KEYSTILE_DATABASE_URL is set. The service may run, except with --move. ' +
    'Keys are in it as digests, never as secrets.',
  operands: ['FILE'],
  operandMeaning: 'The file to make. - writes to standard output.',
  flags: {
    force: { value: null, meaning: 'Replace FILE if it is an export.' },
    move: {
      value: null,
      meaning: 'Export a service that was stopped, and do not let it start again: start the other one.',
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
          ...contentRows(rows),
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
  const first = toOutput ? 'Check that the import has ended well' : 'Import the data';
  if (!wasMoved) return `${first} and start the new service, or go back with keystile data release.`;
  return (
    'An earlier export with --move had already moved it. If that one was finished too, use only one of the two: both have the same credits. ' +
    'Run keystile data release only if neither is used.'
  );
}
