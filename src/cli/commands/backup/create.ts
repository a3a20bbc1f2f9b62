import { EXIT } from '../../../serve/exitCodes.ts';
import { requireEmbedded } from '../../backup/requireEmbedded.ts';
import { misused } from '../../cliError.ts';
import type { Command } from '../../command.ts';
import { LOAD } from '../../load.ts';
import { contentRows, showBytes } from '../../output/backupShown.ts';
import { jsonLine, record, showTime } from '../../output/show.ts';
import { readSettings, STDIN } from '../../settings.ts';

export const backupCreate: Command = {
  name: 'backup create',
  dataFlags: ['data'],
  summary: 'Copy the data folder into one file, also while the service runs.',
  description: 'A FILE with a . or / in it, directly behind backup, needs no create: keystile backup latest.backup.',
  operands: ['FILE'],
  flags: { force: { value: null, meaning: 'Replace FILE if it is an older backup.' } },
  examples: ['keystile backup create /backups/keystile.backup', 'keystile backup create latest.backup --force --json'],
  async run({ io, flags, operands: [file = ''], isJson }) {
    if (file === STDIN) throw misused('backup create writes a file, not standard output. Name a file instead of -.');
    const { config } = await readSettings(io, flags);
    requireEmbedded(config);
    const { createBackup } = await LOAD.backup();
    const made = await createBackup(io, {
      data: config.data,
      file,
      replaces: flags.has('force'),
      copyKeys: config.copyKey ?? [],
    });
    const { lastCommit: _number, ...counts } = made.contents;
    const isSigned = config.copyKey !== null;
    if (isJson)
      io.out(
        jsonLine({ file: made.file, bytes: made.bytes, madeAt: made.madeAtMs, signed: isSigned, contents: counts }),
      );
    else
      io.out(
        record([
          ['backup', made.file],
          ['made', showTime(made.madeAtMs)],
          ['size', showBytes(made.bytes)],
          ['signed', isSigned ? 'yes, with KEYSTILE_COPY_KEY' : 'no: KEYSTILE_COPY_KEY is not set'],
          ...contentRows(made.contents),
        ]),
      );
    return EXIT.OK;
  },
};
