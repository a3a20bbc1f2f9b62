import type { Static } from 'typebox';

import type { verifyKey } from '../../http/routes/keys.verifyKey.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { usingService } from '../ask.ts';
import type { Command } from '../command.ts';
import { misused } from '../cliError.ts';
import { toBody } from '../endpoint/body.ts';
import type { Endpoint } from '../endpoint/endpoint.ts';
import { flagNames, flagsOf } from '../endpoint/endpointCommand.ts';
import endpoints from '../endpoint/endpoints.json';
import { countFlag } from '../flagValues.ts';
import type { Flags } from '../flags.ts';
import { findService } from '../findService.ts';
import { readClientSettings } from '../profiles/clientSettings.ts';
import { loadKey } from '../secrets.ts';
import { KEY_VARIABLE, STDIN } from '../settings.ts';
import { jsonLine, record, showTime } from '../output/show.ts';

/** What a reservation is asked for, a verification is asked for too, except for how credits are held. */
const ASKED = withoutFields('reservations.create', ['cost', 'ttlMs', 'onExpiry']);

type Verdict = Static<(typeof verifyKey)['response']>;

export const keyVerify: Command = {
  name: 'key verify',
  endpoint: 'keys.verifyKey',
  summary: 'Verify a key as your service does. It spends what a request spends. Exit code 3: the key is not valid.',
  operands: ['[KEY]'],
  flags: {
    cost: { value: 'N', meaning: 'Credits that this request costs (default 1).' },
    explain: { value: null, meaning: 'Show what each check found. It needs a root key that may read keys.' },
    ...flagsOf(ASKED),
  },
  examples: ['printf %s "$key" | keystile key verify', 'KEYSTILE_KEY=demo_... keystile key verify --cost 5 --json'],
  flagNames: { ...flagNames(ASKED), 'remaining.cost': '--cost' },
  async run({ io, flags, operands, isJson }) {
    if (flags.text('root-key') === STDIN && operands[0] === STDIN)
      throw misused('Only one secret can come from standard input. Give the others as variables or files.');
    const { config, environment } = await readClientSettings(io, flags);
    // The flags are checked before a secret is asked for.
    toBody(ASKED, { flags, operands, secret: '' });
    const key = await loadKey(io, { command: 'key verify', operand: operands[0], variable: environment[KEY_VARIABLE] });
    const body = toRequest(flags, key);
    // By default verifying needs no root key. A configured root key is sent, and the user is never asked for one.
    const connection = await findService(config);
    const verdict = await usingService(connection, config.rootKey, (ask) => ask<Verdict>('keys.verifyKey', body));
    io.out(isJson ? jsonLine(verdict) : verdictRecord(verdict));
    return verdict.valid ? EXIT.OK : EXIT.NOT_VALID;
  },
};

function withoutFields(path: string, members: readonly string[]): Endpoint {
  const found = (endpoints as unknown as readonly Endpoint[]).find((each) => each.path === path);
  if (found === undefined) throw new Error(`There is no endpoint ${path}.`);
  return { ...found, fields: found.fields.filter(({ member }) => !members.includes(member)) };
}

function toRequest(flags: Flags, secret: string): object {
  const cost = countFlag(flags, 'cost');
  return {
    ...toBody(ASKED, { flags, operands: [], secret }),
    ...(cost === undefined ? {} : { remaining: { cost } }),
    ...(flags.has('explain') ? { explain: true } : {}),
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
    ...(verdict.explanation ?? []).map(({ check, result, text }) => [`check ${check}`, `${result}: ${text}`] as const),
    ['meta', Object.keys(verdict.meta).length === 0 ? undefined : JSON.stringify(verdict.meta)],
  ]);
}
