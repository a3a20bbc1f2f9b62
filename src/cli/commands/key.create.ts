import { EXIT } from '../../serve/exitCodes.ts';
import { withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { misused } from '../cliError.ts';
import { countFlag } from '../flagValues.ts';
import { KEY_FIELD_FLAGS, KEY_FLAG_NAMES, toKeyFields } from '../keyFields.ts';
import { jsonLine, record } from '../output/show.ts';

export const keyCreate: Command = {
  name: 'key create',
  endpoint: 'keys.createKey',
  summary: 'Create a key. Its secret is shown only once.',
  operands: [],
  flags: {
    api: { value: 'ID', meaning: 'The api that the key belongs to (required).' },
    prefix: { value: 'TEXT', meaning: 'Text that the key starts with.' },
    'byte-length': { value: '16..255', meaning: 'Number of random bytes in the key.' },
    disabled: { value: null, meaning: 'Create the key disabled.' },
    ...KEY_FIELD_FLAGS,
  },
  examples: [
    'keystile key create --api api_1Jm8ZtXg3kPp5FhJ9sQw2R --prefix demo --remaining 100 --refill daily:100',
    'keystile key create --api api_1Jm8ZtXg3kPp5FhJ9sQw2R --owner user_1234 --limit 10/s --strict --permission documents.read',
  ],
  flagNames: KEY_FLAG_NAMES,
  async run(call) {
    const { io, flags, isJson } = call;
    if (!flags.has('api')) throw misused('key create needs --api ID. keystile api list shows the ids.');
    const prefix = flags.text('prefix');
    const byteLength = countFlag(flags, 'byte-length');
    const body = {
      apiId: flags.text('api'),
      ...(prefix === undefined ? {} : { prefix }),
      ...(byteLength === undefined ? {} : { byteLength }),
      ...(flags.has('disabled') ? { enabled: false } : {}),
      ...(flags.has('role') ? { roles: flags.list('role') } : {}),
      ...(flags.has('permission') ? { permissions: flags.list('permission') } : {}),
      ...toKeyFields(flags),
    };
    const created = await withService(call, (ask) => ask<{ keyId: string; key: string }>('keys.createKey', body));
    io.out(
      isJson
        ? jsonLine(created)
        : record([
            ['key', created.key],
            ['id', created.keyId],
          ]),
    );
    if (!isJson) io.err('This key is shown only once. Store it now.\n');
    return EXIT.OK;
  },
};
