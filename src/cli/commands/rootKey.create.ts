import { MAX_NAME_LENGTH } from '../../core/bounds.ts';
import { repeatable } from '../../core/errors.ts';
import { ALL_RIGHTS, isRight, unknownRight } from '../../core/rights.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { wallClockMs } from '../../system.ts';
import type { Command } from '../command.ts';
import { misused } from '../cliError.ts';
import { timeFlag } from '../flagValues.ts';
import type { Io } from '../io.ts';
import { askRootKeys } from '../rootKeyChannel.ts';
import { rootKeyObject } from '../output/rootKeyShown.ts';
import { readSettings } from '../settings.ts';
import { jsonLine, record, showTime } from '../output/show.ts';

export const rootKeyCreate: Command = {
  name: 'root-key create',
  dataFlags: ['data', 'database-url'],
  endpoint: 'rootKeys.createRootKey',
  takesProfile: false,
  summary: 'Create a root key. Its secret is shown only once.',
  operands: [],
  flags: {
    name: { value: 'TEXT', meaning: 'A name that helps people recognize the root key.' },
    right: {
      value: 'RIGHT',
      meaning: "What the root key may do, such as 'api.*.read_key' (required). '*' is everything.",
      isRepeatable: true,
    },
    expires: { value: 'TIME', meaning: 'When the root key expires: unix milliseconds or a date such as 2030-12-31.' },
  },
  examples: [
    "keystile root-key create --name me --right '*'",
    "keystile root-key create --right 'api.*.create_key' --right 'api.*.read_key'",
  ],
  async run({ io, flags, isJson }) {
    const name = flags.text('name') ?? null;
    if (name !== null && (name === '' || name.length > MAX_NAME_LENGTH))
      throw misused(`--name must have 1 to ${MAX_NAME_LENGTH} characters, got ${name.length}.`);
    const expiresAtMs = timeFlag(flags, 'expires') ?? null;
    if (expiresAtMs !== null && expiresAtMs <= wallClockMs())
      throw misused(`--expires must be in the future, got ${repeatable(flags.text('expires') ?? '')}.`);
    const rights = flags.has('right') ? flags.list('right') : await askRights(io);
    const wrong = rights.find((right) => !isRight(right));
    // Checked before a database is opened, which is made where there is none.
    if (wrong !== undefined) throw misused(`${flags.has('right') ? '--right: ' : ''}${unknownRight(wrong)}`);
    const { config } = await readSettings(io, flags);
    const answer = await askRootKeys(config, { command: 'create', input: { name, rights, expiresAtMs } });
    if (!('created' in answer)) throw new Error('the answer does not belong to the command create');
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
    io.err('This root key is shown only once. Store it now.\n');
    return EXIT.OK;
  },
};

/** Every right must be asked for: nobody gets it by leaving out a flag. */
async function askRights({ ask }: Io): Promise<readonly string[]> {
  const question = `Rights, separated by spaces, such as api.*.create_key api.*.read_key (${ALL_RIGHTS} is everything): `;
  const typed = ask === undefined || ask === null ? '' : await ask(question);
  const rights = typed.split(/[\s,]+/).filter((right) => right !== '');
  if (rights.length > 0) return rights;
  throw misused(
    `root-key create needs --right RIGHT, such as --right 'api.*.read_key'. --right '${ALL_RIGHTS}' gives every right.`,
  );
}
