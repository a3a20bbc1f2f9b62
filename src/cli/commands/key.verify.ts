import type { Static } from 'typebox';

import type { verifyKey } from '../../http/routes/keys.verifyKey.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { usingService } from '../ask.ts';
import type { Command } from '../command.ts';
import { misused } from '../cliError.ts';
import { countFlag } from '../flagValues.ts';
import type { Flags } from '../flags.ts';
import { findService } from '../findService.ts';
import { readClientSettings } from '../profiles/clientSettings.ts';
import { loadKey } from '../secrets.ts';
import { KEY_VARIABLE, STDIN } from '../settings.ts';
import { jsonLine, record, showTime } from '../output/show.ts';

type Verdict = Static<(typeof verifyKey)['response']>;

export const keyVerify: Command = {
  name: 'key verify',
  endpoint: 'keys.verifyKey',
  summary: 'Verify a key as your service does. It spends what a request spends. Exit code 3: the key is not valid.',
  operands: ['[KEY]'],
  flags: {
    cost: { value: 'N', meaning: 'Credits that this request costs (default 1).' },
    api: { value: 'ID', meaning: 'The api that the key must belong to.' },
    'idempotency-key': { value: 'ID', meaning: 'A repeated request with the same value spends only once.' },
    'client-ip': { value: 'ADDRESS', meaning: 'Address of the client, for keys that allow only some addresses.' },
  },
  examples: ['printf %s "$key" | keystile key verify', 'KEYSTILE_KEY=demo_... keystile key verify --cost 5 --json'],
  flagNames: {
    key: 'KEY',
    'remaining.cost': '--cost',
    apiId: '--api',
    idempotencyKey: '--idempotency-key',
    clientIp: '--client-ip',
  },
  async run({ io, flags, operands, isJson }) {
    if (flags.text('root-key') === STDIN && operands[0] === STDIN)
      throw misused('Only one secret can come from standard input. Give the others as variables or files.');
    const { config, environment } = await readClientSettings(io, flags);
    const key = await loadKey(io, { command: 'key verify', operand: operands[0], variable: environment[KEY_VARIABLE] });
    const body = { key, ...toRequest(flags) };
    // By default verifying needs no root key. A configured root key is sent, and the user is never asked for one.
    const connection = await findService(config);
    const verdict = await usingService(connection, config.rootKey, (ask) => ask<Verdict>('keys.verifyKey', body));
    io.out(isJson ? jsonLine(verdict) : verdictRecord(verdict));
    return verdict.valid ? EXIT.OK : EXIT.NOT_VALID;
  },
};

function toRequest(flags: Flags): object {
  const cost = countFlag(flags, 'cost');
  const [apiId, idempotencyKey, clientIp] = [flags.text('api'), flags.text('idempotency-key'), flags.text('client-ip')];
  return {
    ...(cost === undefined ? {} : { remaining: { cost } }),
    ...(apiId === undefined ? {} : { apiId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(clientIp === undefined ? {} : { clientIp }),
  };
}

function verdictRecord(verdict: Verdict): string {
  return record([
    ['verdict', verdict.code],
    ['key', verdict.keyId],
    ['name', verdict.name],
    ['owner', verdict.ownerId],
    ['remaining', verdict.remaining === undefined ? undefined : String(verdict.remaining)],
    ...(verdict.ratelimits ?? []).map(({ name, limit, remaining, reset }) => {
      return [`limit ${name}`, `${remaining} of ${limit} left until ${showTime(reset)}`] as const;
    }),
    ['expires', verdict.expires === undefined ? undefined : showTime(verdict.expires)],
    ['environment', verdict.environment],
    ['meta', Object.keys(verdict.meta).length === 0 ? undefined : JSON.stringify(verdict.meta)],
  ]);
}
