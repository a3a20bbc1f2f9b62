import { AUTHENTICITY_WORDS } from '../../../storage/sql/copySignature.ts';
import { ACCEPT_UNSIGNED, trustOf } from '../../backup/copyTrust.ts';
import { readSettings } from '../../settings.ts';
import { EXIT } from '../../../serve/exitCodes.ts';
import type { Command } from '../../command.ts';
import { LOAD } from '../../load.ts';
import { contentRows, showBytes } from '../../output/backupShown.ts';
import { jsonLine, record, showTime } from '../../output/show.ts';

export const backupVerify: Command = {
  name: 'backup verify',
  summary: 'Read a backup from end to end, and show when it was made and what is in it.',
  operands: ['FILE'],
  flags: { ...ACCEPT_UNSIGNED },
  takesSettings: ['copyKey'],
  examples: ['keystile backup verify /backups/keystile.backup'],
  async run({ io, flags, operands: [file = ''], isJson }) {
    const { config } = await readSettings(io, flags);
    const { verifyBackup } = await LOAD.backup();
    const { header, bytes, hasEncryptionKey, authenticity, contents } = await verifyBackup(
      file,
      trustOf(config, flags),
    );
    const { lastCommit: _number, ...counts } = contents;
    if (isJson)
      io.out(
        jsonLine({
          isSound: true,
          madeAt: header.madeAtMs,
          program: header.program,
          bytes,
          authentic: authenticity === 'signed',
          encryptionKey: hasEncryptionKey,
          contents: counts,
        }),
      );
    else
      io.out(
        record([
          ['backup', 'sound: its checksum and its databases are right'],
          ['origin', AUTHENTICITY_WORDS[authenticity]],
          ['made', `${showTime(header.madeAtMs)} by version ${header.program}`],
          ['size', showBytes(bytes)],
          ...contentRows(contents),
          ['encryption key', hasEncryptionKey ? 'yes' : 'none'],
        ]),
      );
    return EXIT.OK;
  },
};
