import { EXIT } from '../../../serve/exitCodes.ts';
import type { Command } from '../../command.ts';
import { LOAD_MOVE } from './loadMove.ts';
import { contentRows } from '../../output/dataShown.ts';
import { jsonLine, record, showTime } from '../../output/show.ts';
import { readSettings, STDIN } from '../../settings.ts';

export const dataImport: Command = {
  name: 'data import',
  summary: 'Fill a new data folder, or an empty PostgreSQL database, from an export.',
  description:
    'The target is the data folder, which must not exist, or the database of KEYSTILE_DATABASE_URL, which must be empty. ' +
    'On PostgreSQL, the same command goes on where an import was interrupted.',
  operands: ['FILE'],
  operandMeaning: 'The file that keystile data export has made. - reads standard input.',
  flags: {},
  examples: [
    'keystile data import keystile.ndjson --data /var/lib/keystile',
    'KEYSTILE_DATABASE_URL=postgres://db/keystile keystile data import keystile.ndjson',
  ],
  async run({ io, flags, operands: [file = ''], isJson }) {
    const { config } = await readSettings(io, flags);
    const { importData } = await LOAD_MOVE.importData();
    const { header, trailer, resumedAfter } = await importData(io, config, file === STDIN ? null : file);
    const { installation, exportId, takenAtMs, engine } = header;
    if (isJson) io.out(jsonLine({ installation, exportId, takenAt: takenAtMs, from: engine, rows: trailer.rows }));
    else
      io.out(
        record([
          ['imported', config.databaseUrl === null ? config.data : 'PostgreSQL'],
          ['taken', `${showTime(takenAtMs)} from ${engine === 'sqlite' ? 'a data folder' : 'PostgreSQL'}`],
          ['resumed', resumedAfter === 0 ? undefined : `after line ${resumedAfter}`],
          ...contentRows(trailer.rows),
        ]),
      );
    if ((trailer.rows['webhooks'] ?? 0) > 0 && config.encryptionKey === null)
      io.err('Webhooks need the KEYSTILE_ENCRYPTION_KEY of the installation that was exported.\n');
    return EXIT.OK;
  },
};
