import { AUTHENTICITY_WORDS } from '../../../storage/sql/copySignature.ts';
import { ACCEPT_UNSIGNED, trustOf } from '../../backup/copyTrust.ts';
import { EXIT } from '../../../serve/exitCodes.ts';
import { requireEmbedded } from '../../backup/requireEmbedded.ts';
import { misused } from '../../cliError.ts';
import type { Command } from '../../command.ts';
import { LOAD } from '../../load.ts';
import { contentRows } from '../../output/backupShown.ts';
import { jsonLine, record, showTime } from '../../output/show.ts';
import { readSettings } from '../../settings.ts';

export const backupRestore: Command = {
  name: 'backup restore',
  dataFlags: ['data'],
  summary: 'Make a data folder from a backup. What changed after the backup was made is missing in it.',
  operands: ['FILE'],
  flags: {
    accept: {
      value: null,
      meaning: 'Accept that later spends come back, and keys and root keys revoked later are valid again.',
    },
    ...ACCEPT_UNSIGNED,
    force: { value: null, meaning: 'Move an existing data folder aside. Nothing of it is deleted.' },
  },
  examples: ['keystile backup restore /backups/keystile.backup --data /var/lib/keystile --accept'],
  async run({ io, flags, operands: [file = ''], isJson }) {
    const { config } = await readSettings(io, flags);
    requireEmbedded(config);
    const { restore } = await LOAD.backup();
    const restored = await restore({
      file,
      data: config.data,
      movesAside: flags.has('force'),
      trust: trustOf(config, flags),
      accept: (madeAtMs) => {
        if (!flags.has('accept'))
          throw misused(`${whatIsMissing(madeAtMs)} Nothing was changed. To restore it, add --accept.`);
      },
    });
    const { folder, movedTo, madeAtMs, authenticity, contents } = restored;
    const isAuthentic = authenticity === 'signed';
    if (isJson)
      io.out(jsonLine({ folder, madeAt: madeAtMs, authentic: isAuthentic, ...(movedTo === null ? {} : { movedTo }) }));
    else {
      io.out(
        record([
          ['restored', folder],
          ['made', showTime(madeAtMs)],
          ['origin', AUTHENTICITY_WORDS[authenticity]],
          ...contentRows(contents),
          ['moved aside', movedTo ?? undefined],
        ]),
      );
      io.err(`${whatIsMissing(madeAtMs)} Correct both before clients use the service.\n`);
    }
    return EXIT.OK;
  },
};

function whatIsMissing(madeAtMs: number): string {
  return (
    `The backup was made ${showTime(madeAtMs)}. Credits that were spent after that come back, ` +
    'and keys and root keys that were revoked after that are valid again.'
  );
}
