import type { Static } from 'typebox';

import type { ApiObject } from '../../http/shapes/apiObject.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { type Ask, withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { jsonLine, table } from '../output/show.ts';

type Api = Static<typeof ApiObject>;

export const apiList: Command = {
  name: 'api list',
  endpoint: 'apis.listApis',
  summary: 'List the apis that the root key may read.',
  operands: [],
  flags: {},
  examples: ['keystile api list', 'keystile api list --json'],
  async run(call) {
    const apis = await withService(call, listAll);
    const rows = apis.map(({ id, name }) => [id, name]);
    call.io.out(call.isJson ? jsonLine({ apis, total: apis.length }) : table(['ID', 'NAME'], rows));
    return EXIT.OK;
  },
};

async function listAll(ask: Ask): Promise<Api[]> {
  const found: Api[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask<{ apis: Api[]; cursor?: string }>('apis.listApis', cursor === undefined ? {} : { cursor });
    found.push(...page.apis);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}
