import { MAX_NAME_LENGTH } from '../../core/bounds.ts';
import { ALL_RIGHTS } from '../../core/rights.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { wallClockMs } from '../../system.ts';
import type { Command } from '../command.ts';
import { misused } from '../cliError.ts';
import { timeFlag } from '../flagValues.ts';
import { askRootKeys } from '../rootKeyChannel.ts';
import { rootKeyObject } from '../output/rootKeyShown.ts';
import { readSettings } from '../settings.ts';
import { jsonLine, record, showTime } from '../output/show.ts';

export const rootKeyCreate: Command = {
  name: 'root-key create',
  summary: 'Make a root key. Its secret is shown this once.',
  operands: [],
  flags: {
    name: { value: 'TEXT', meaning: 'A name for people.' },
    right: {
      value: 'RIGHT',
      meaning: 'What it may do, such as api.*.read_key; everything when none is given.',
      isRepeatable: true,
    },
    expires: { value: 'TIME', meaning: 'Unix milliseconds or a date such as 2030-12-31.' },
  },
  examples: [
    'keystile root-key create --name deploy',
    "keystile root-key create --right 'api.*.create_key' --right 'api.*.read_key'",
  ],
  async run({ io, flags, isJson }) {
    const name = flags.text('name') ?? null;
    if (name !== null && (name === '' || name.length > MAX_NAME_LENGTH))
      throw misused(`--name must have 1 to ${MAX_NAME_LENGTH} characters.`);
    const expiresAtMs = timeFlag(flags, 'expires') ?? null;
    if (expiresAtMs !== null && expiresAtMs <= wallClockMs()) throw misused('--expires must be in the future.');
    const rights = flags.has('right') ? flags.list('right') : [ALL_RIGHTS];
    const { config } = await readSettings(io, flags);
    const answer = await askRootKeys(config, { command: 'create', input: { name, rights, expiresAtMs } });
    if (!('created' in answer)) throw new Error('the answer to create is of another kind');
    const { created, secret } = answer;
    if (isJson) {
      const { id, ...rest } = rootKeyObject(created);
      io.out(jsonLine({ rootKeyId: id, key: secret, ...rest }));
      return EXIT.OK;
    }
    io.out(
      record([
        ['root key', secret],
        ['id', created.id],
        ['name', created.name ?? undefined],
        ['rights', created.rights.join(', ')],
        ['expires', created.expiresAtMs === null ? 'never' : showTime(created.expiresAtMs)],
      ]),
    );
    io.err('The root key is shown this once: keep it now.\n');
    return EXIT.OK;
  },
};
