import { EXIT } from '../../serve/exitCodes.ts';
import { withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { misused } from '../cliError.ts';
import { parseValue } from '../endpoint/values.ts';
import type { Flags } from '../flags.ts';
import { CLEARABLE_WORDS, KEY_FIELD_FLAGS, KEY_FLAG_NAMES, toClearedFields, toKeyFields } from '../keyFields.ts';
import { jsonLine, visible } from '../output/show.ts';

export const keyUpdate: Command = {
  name: 'key update',
  endpoint: 'keys.updateKey',
  summary: 'Change a key. Only the given fields change.',
  operands: ['ID'],
  flags: {
    ...KEY_FIELD_FLAGS,
    clear: { value: 'FIELD', meaning: `Remove a field: ${CLEARABLE_WORDS.join(', ')}.`, isRepeatable: true },
    'no-metered': { value: null, meaning: 'The opposite of --metered.' },
    enable: { value: null, meaning: 'Enable the key.' },
    disable: { value: null, meaning: 'Disable the key. It is not valid any more as soon as the command answers.' },
  },
  examples: [
    'keystile key update key_1Jm8ZtYh4mRr6GjK8uTx3S --disable',
    'keystile key update key_1Jm8ZtYh4mRr6GjK8uTx3S --remaining 500 --clear expires',
  ],
  flagNames: KEY_FLAG_NAMES,
  async run(call) {
    const [keyId = ''] = call.operands;
    const set = { ...toKeyFields(call.flags), ...toEnabled(call.flags), ...toGiven(call.flags) };
    const fields = { ...set, ...toClearedFields(call.flags.list('clear'), set) };
    if (Object.keys(fields).length === 0)
      throw misused('key update needs at least one flag that changes the key. See keystile key update --help.');
    await withService(call, (ask) => ask('keys.updateKey', { keyId, ...fields }));
    call.io.out(call.isJson ? jsonLine({ keyId }) : `Updated ${visible(keyId)}.\n`);
    return EXIT.OK;
  },
};

/** Roles and permissions by name or id. */
function toGiven(flags: Flags): object {
  if (flags.has('metered') && flags.has('no-metered'))
    throw misused('--metered and --no-metered exclude each other. Give only one of them.');
  const references = (flag: string): unknown[] =>
    flags.list(flag).map((text) => parseValue({ flag, member: flag, kind: 'reference', meaning: '' }, text));
  return {
    ...(flags.has('role') ? { roles: references('role') } : {}),
    ...(flags.has('permission') ? { permissions: references('permission') } : {}),
    ...(flags.has('no-metered') ? { metered: false } : {}),
  };
}

function toEnabled(flags: Flags): { enabled?: boolean } {
  if (flags.has('enable') && flags.has('disable'))
    throw misused('--enable and --disable exclude each other. Give only one of them.');
  if (flags.has('enable')) return { enabled: true };
  return flags.has('disable') ? { enabled: false } : {};
}
