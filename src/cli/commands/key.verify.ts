import type { Static } from 'typebox';

import type { verifyKey } from '../../http/routes/keys.verifyKey.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { usingService } from '../ask.ts';
import type { Command } from '../command.ts';
import { misused } from '../cliError.ts';
import { countFlag } from '../flagValues.ts';
import type { Flags } from '../flags.ts';
import { reachService } from '../findService.ts';
import { loadKey } from '../secrets.ts';
import { KEY_VARIABLE, readSettings, STDIN } from '../settings.ts';
import { jsonLine, record, showTime } from '../output/show.ts';

type Verdict = Static<(typeof verifyKey)['response']>;

export const keyVerify: Command = {
  name: 'key verify',
  summary: 'Verify a key as your service would: it spends what a request spends. Exit code 3 when it is not valid.',
  operands: ['[KEY]'],
  flags: {
    cost: { value: 'N', meaning: 'Credits that this request takes; 1 when not given.' },
    api: { value: 'ID', meaning: 'The api that it must belong to.' },
    'idempotency-key': { value: 'ID', meaning: 'The same one again spends nothing more.' },
    'client-ip': { value: 'ADDRESS', meaning: 'Whose request it is, for keys with addresses.' },
  },
  examples: ['printf %s "$key" | keystile key verify', 'KEYSTILE_KEY=demo_... keystile key verify --cost 5 --json'],
  async run({ io, flags, operands, isJson }) {
    if (flags.text('root-key') === STDIN && operands[0] === STDIN)
      throw misused('Only one secret can come from standard input.');
    const { config, environment } = await readSettings(io, flags);
    const key = await loadKey(io, { operand: operands[0], variable: environment[KEY_VARIABLE] });
    const body = { key, ...toRequest(flags) };
    // Verifying is open unless configured: a root key is sent when there is one, and asked of no one.
    const reached = await reachService(config);
    const verdict = await usingService(reached, config.rootKey, (ask) => ask<Verdict>('keys.verifyKey', body));
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
