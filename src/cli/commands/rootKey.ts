import { hostname } from 'node:os';

import { misused, failed } from '../cliError.ts';
import type { Command } from '../command.ts';
import { kindFlag, timeFlag } from '../flags.ts';
import type { Io } from '../io.ts';
import { jsonLine, record, showTime, table, visible } from '../output/print.ts';
import { confirm, databaseOf, YES_FLAG } from '../prompt.ts';
import { readSettings } from '../settings.ts';
import { duration } from '../../config/kinds.ts';
import { MAX_NAME_LENGTH, MAX_OVERLAP_MS } from '../../core/bounds.ts';
import { repeatable } from '../../core/errors.ts';
import { ALL_RIGHTS, isRight, unknownRight } from '../../core/rights.ts';
import { EXIT } from '../../serve/exit.ts';
import { type RootKeyShown, type RootKeyAnswer, type RootKeyCommand, runRootKeyCommand } from '../../serve/rootKeys.ts';
import { wallClockMs } from '../../bunPlatform.ts';
import type { Config } from '../../config/variables.ts';
import type { Owner } from '../../storage/sqlite/file/dataFolder.ts';
import { isNotSent } from '../http.ts';
import { hasDatabase, openUnlessOwned, ownedBy, retryFor } from '../openDatabase.ts';

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
      meaning: "What the root key may do, such as 'api.*.read_key' (required). '*' is every right.",
      isRepeatable: true,
    },
    expires: {
      value: 'TIME',
      meaning: 'When the root key expires: a time span such as 30d, or a date such as 2030-12-31. Never when absent.',
    },
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
  const question = `Rights, separated by spaces, such as api.*.create_key api.*.read_key (${ALL_RIGHTS} is every right): `;
  const typed = ask === undefined || ask === null ? '' : await ask(question);
  const rights = typed.split(/[\s,]+/).filter((right) => right !== '');
  if (rights.length > 0) return rights;
  throw misused(
    `root-key create needs --right RIGHT, such as --right 'api.*.read_key'. --right '${ALL_RIGHTS}' gives every right.`,
  );
}

export const rootKeyList: Command = {
  name: 'root-key list',
  dataFlags: ['data', 'database-url'],
  endpoint: 'rootKeys.listRootKeys',
  takesProfile: false,
  summary: 'List all root keys, including revoked ones.',
  operands: [],
  flags: {},
  examples: ['keystile root-key list', 'keystile root-key list --json'],
  async run({ io, flags, isJson }) {
    const { config } = await readSettings(io, flags);
    const answer = await askRootKeys(config, { command: 'list' });
    if (!('rootKeys' in answer)) throw new Error('the answer does not belong to the command list');
    const { rootKeys } = answer;
    io.out(isJson ? jsonLine({ rootKeys: rootKeys.map(rootKeyObject) }) : rootKeyTable(rootKeys));
    return EXIT.OK;
  },
};

function rootKeyTable(rootKeys: readonly RootKeyShown[]): string {
  const rows = rootKeys.map((rootKey) => [
    rootKey.id,
    `${rootKey.start}...`,
    rootKey.name ?? '',
    rootKey.rights.join(', '),
    stateText(rootKey),
    showTime(rootKey.createdAtMs),
  ]);
  return table(['ID', 'START', 'NAME', 'RIGHTS', 'STATE', 'CREATED'], rows);
}

function stateText({ revokedAtMs, expiresAtMs }: RootKeyShown): string {
  if (revokedAtMs !== null) return `revoked ${showTime(revokedAtMs)}`;
  if (expiresAtMs === null) return 'active';
  return `${expiresAtMs <= wallClockMs() ? 'expired' : 'active until'} ${showTime(expiresAtMs)}`;
}

export const rootKeyRevoke: Command = {
  name: 'root-key revoke',
  dataFlags: ['data', 'database-url'],
  endpoint: 'rootKeys.revokeRootKey',
  takesProfile: false,
  isDestructive: true,
  summary: 'Revoke a root key permanently.',
  operands: ['ID'],
  flags: YES_FLAG,
  examples: ['keystile root-key revoke rk_1Jm8ZtXg3kPp5FhJ9sQw2R'],
  async run(call) {
    const { io, flags, operands, isJson } = call;
    const rootKeyId = operands[0] ?? '';
    const { config } = await readSettings(io, flags);
    await confirm(call, 'root-key revoke', `Revoke the root key ${rootKeyId} for good`, databaseOf(config));
    await askRootKeys(config, { command: 'revoke', rootKeyId });
    io.out(isJson ? jsonLine({ rootKeyId }) : `Revoked ${visible(rootKeyId)}.\n`);
    return EXIT.OK;
  },
};

const OVERLAP = duration(0, MAX_OVERLAP_MS);

export const rootKeyRotate: Command = {
  name: 'root-key rotate',
  dataFlags: ['data', 'database-url'],
  endpoint: 'rootKeys.rotateRootKey',
  takesProfile: false,
  summary: 'Give a root key a new secret. Its id and rights stay.',
  operands: ['ID'],
  flags: {
    overlap: {
      value: 'DURATION',
      meaning: 'How long the old secret stays valid, from 0 to 30d. 0 ends every former secret at once. (required)',
    },
    ...YES_FLAG,
  },
  examples: ['keystile root-key rotate rk_1Jm8ZtXg3kPp5FhJ9sQw2R --overlap 1d'],
  async run(call) {
    const { io, flags, operands, isJson } = call;
    const [rootKeyId = ''] = operands;
    const overlapMs = kindFlag(flags, 'overlap', OVERLAP);
    if (overlapMs === undefined)
      throw misused('root-key rotate needs --overlap DURATION. See keystile root-key rotate --help.');
    const { config } = await readSettings(io, flags);
    const what = `Rotate ${rootKeyId}, and end its old secret and its sessions at once`;
    if (overlapMs === 0) await confirm(call, 'root-key rotate', what, databaseOf(config));
    const answer = await askRootKeys(config, { command: 'rotate', rootKeyId, overlapMs });
    if (!('rotated' in answer)) throw new Error('the answer does not belong to the command rotate');
    const { secret } = answer;
    io.out(
      isJson
        ? jsonLine({ rootKeyId, key: secret })
        : record([
            ['root key', secret],
            ['id', rootKeyId],
          ]),
    );
    if (!isJson) io.err('This root key is shown only once. Store it now.\n');
    return EXIT.OK;
  },
};

/** A root key with the field names of the HTTP API. Fields that are not set are absent. */
function rootKeyObject({ id, start, name, rights, createdAtMs, expiresAtMs, revokedAtMs }: RootKeyShown) {
  return {
    id,
    start,
    ...(name === null ? {} : { name }),
    rights,
    createdAt: createdAtMs,
    ...(expiresAtMs === null ? {} : { expires: expiresAtMs }),
    ...(revokedAtMs === null ? {} : { revokedAt: revokedAtMs }),
  };
}

/**
 * Root key commands need access to the data folder. They go to the server that owns the folder, through its control socket.
 * When no server runs, this process opens the database itself. No network address leads to these commands, so a server on
 * another machine never receives them.
 */
async function askRootKeys(config: Config, command: RootKeyCommand): Promise<RootKeyAnswer> {
  if (!hasDatabase(config) && command.command !== 'create') {
    throw failed(`There is no database in ${config.data}. Set KEYSTILE_DATA to the data folder of the service.`);
  }
  let owner: Owner | null = null;
  const answer = await retryFor(async () => {
    const found = await openUnlessOwned(config);
    if ('engine' in found) {
      try {
        return await runRootKeyCommand(found.engine, command);
      } finally {
        await found.close();
      }
    }
    owner = found;
    if (found.host !== hostname()) throw failed(`${ownedBy(config, found)}. Run this command on that machine.`);
    return askOwner(found, command);
  });
  if (answer !== null) return answer;
  throw failed(
    owner === null
      ? 'The data folder cannot be opened.'
      : `${ownedBy(config, owner)}. That process does not answer on its control socket.`,
  );
}

/** Null when the owner does not listen: it is another command, or a server that is starting or stopping. */
async function askOwner({ control }: Owner, command: RootKeyCommand): Promise<RootKeyAnswer | null> {
  if (control === null) return null;
  let response: Response;
  try {
    response = await fetch('http://localhost/', { unix: control, method: 'POST', body: JSON.stringify(command) });
  } catch (error) {
    if (isNotSent(error)) return null;
    throw failed(
      'The server did not answer on its control socket. The command may have been carried out: check with keystile root-key list.',
    );
  }
  const answer = (await response.json()) as RootKeyAnswer | { readonly error: string };
  if ('error' in answer) throw failed(answer.error);
  return answer;
}
