import { EXIT } from '../../../serve/exitCodes.ts';
import type { Command } from '../../command.ts';
import { LOAD } from '../../load.ts';
import { contentRows, showBytes } from '../../output/backupShown.ts';
import { jsonLine, record, showTime } from '../../output/show.ts';

export const backupVerify: Command = {
  name: 'backup verify',
  summary: 'Read a backup from end to end, and show when it was made and what is in it.',
  operands: ['FILE'],
  flags: {},
  takesSettings: false,
  examples: ['keystile backup verify /backups/keystile.backup'],
  async run({ io, operands: [file = ''], isJson }) {
    const { verifyBackup } = await LOAD.backup();
    const { header, bytes, hasEncryptionKey, contents } = await verifyBackup(file);
    const { lastCommit: _number, ...counts } = contents;
    if (isJson)
      io.out(
        jsonLine({
          isSound: true,
          madeAt: header.madeAtMs,
          program: header.program,
          bytes,
          encryptionKey: hasEncryptionKey,
          contents: counts,
        }),
      );
    else
      io.out(
        record([
          ['backup', 'sound: its checksum and its databases are right'],
          ['made', `${showTime(header.madeAtMs)} by version ${header.program}`],
          ['size', showBytes(bytes)],
          ...contentRows(contents),
          ['encryption key', hasEncryptionKey ? 'yes' : 'none'],
        ]),
      );
    return EXIT.OK;
  },
};
