import { ACCEPT_UNSIGNED, trustOf } from '../copyTrust.ts';
import { misused } from '../cliError.ts';
import type { Command } from '../command.ts';
import { LOAD } from '../load.ts';
import { backupRows, showBytes } from '../output/contents.ts';
import { jsonLine, record, showTime } from '../output/print.ts';
import { requireEmbedded } from '../removeWhenStopped.ts';
import { readSettings, STDIN } from '../settings.ts';
import { EXIT } from '../../serve/exit.ts';
import { AUTHENTICITY_WORDS } from '../../storage/sql/copySignature.ts';

export const backupCreate: Command = {
  name: 'backup create',
  dataFlags: ['data'],
  summary: 'Copy the data folder into one file, even while the service runs.',
  description: 'If FILE has a . or / in it, create can be left out: keystile backup latest.backup.',
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
          ...backupRows(made.contents),
        ]),
      );
    return EXIT.OK;
  },
};

export const backupRestore: Command = {
  name: 'backup restore',
  dataFlags: ['data'],
  summary: 'Make a data folder from a backup. It lacks what changed after the backup was made.',
  operands: ['FILE'],
  flags: {
    accept: {
      value: null,
      meaning: 'Accept that credits spent later come back, and that keys and root keys revoked later are valid again.',
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
          ...backupRows(contents),
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
          ['backup', 'sound: its checksum and databases are right'],
          ['origin', AUTHENTICITY_WORDS[authenticity]],
          ['made', `${showTime(header.madeAtMs)} by version ${header.program}`],
          ['size', showBytes(bytes)],
          ...backupRows(contents),
          ['encryption key', hasEncryptionKey ? 'yes' : 'none'],
        ]),
      );
    return EXIT.OK;
  },
};
