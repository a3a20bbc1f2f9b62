import { AUTHENTICITY_WORDS } from '../../../storage/sql/copySignature.ts';
import { ACCEPT_UNSIGNED, trustOf } from '../../backup/copyTrust.ts';
import { EXIT } from '../../../serve/exitCodes.ts';
import { misused } from '../../cliError.ts';
import type { Command } from '../../command.ts';
import { LOAD_MOVE } from './loadMove.ts';
import { contentRows } from '../../output/dataShown.ts';
import { jsonLine, record, showTime } from '../../output/show.ts';
import { STDIN } from '../../settings.ts';
import { readDataSettings } from './dataSettings.ts';

export const dataImport: Command = {
  name: 'data import',
  dataFlags: ['data', 'database-url'],
  summary: 'Fill a new data folder, or an empty PostgreSQL database, from an export.',
  description:
    'The target is the data folder, which must not exist, or the database of KEYSTILE_DATABASE_URL, which must be empty. ' +
    'On PostgreSQL, the same command goes on where an import of a file was interrupted.',
  operands: ['FILE'],
  operandMeaning: 'The file that keystile data export has made. - reads standard input.',
  flags: {
    accept: { value: null, meaning: 'Accept an export that was made without --move: what was spent later comes back.' },
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
          ...contentRows(trailer.rows),
        ]),
      );
    if (!header.isMove) io.err(`${whatComesBack(takenAtMs)} Let only one of the two services go on.\n`);
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
