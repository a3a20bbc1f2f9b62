import { EXIT } from '../../serve/exitCodes.ts';
import type { RootKeyShown } from '../../serve/rootKeyCommands.ts';
import { wallClockMs } from '../../system.ts';
import type { Command } from '../command.ts';
import { askRootKeys } from '../rootKeyChannel.ts';
import { rootKeyObject } from '../output/rootKeyShown.ts';
import { readSettings } from '../settings.ts';
import { jsonLine, showTime, table } from '../output/show.ts';

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
