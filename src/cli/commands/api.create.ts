import { EXIT } from '../../serve/exitCodes.ts';
import { withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { jsonLine, record } from '../output/show.ts';

export const apiCreate: Command = {
  name: 'api create',
  endpoint: 'apis.createApi',
  summary: 'Create an api: a group of keys for one of your services.',
  operands: ['NAME'],
  flags: {},
  examples: ['keystile api create payments'],
  flagNames: { name: 'NAME' },
  async run(call) {
    const [name] = call.operands;
    const api = await withService(call, (ask) => ask<{ apiId: string; name: string }>('apis.createApi', { name }));
    call.io.out(
      call.isJson
        ? jsonLine(api)
        : record([
            ['id', api.apiId],
            ['name', api.name],
          ]),
    );
    return EXIT.OK;
  },
};
