import { localUrl } from '../../basics/localUrl.ts';
import { EXIT } from '../../serve/exit.ts';
import type { Command } from '../command.ts';
import { notKeystile, send, unreachable } from '../http.ts';
import { jsonLine } from '../output/print.ts';
import { readSettings } from '../settings.ts';
import { tryLocalTrust } from '../trust.ts';

interface Readiness {
  readonly ready?: boolean;
  readonly reasons?: readonly string[];
  readonly warnings?: readonly string[];
}

/** For health checks of containers, which have no other program that could ask. */
export const health: Command = {
  name: 'health',
  summary: 'Ask the running service whether it is ready. Exit code 1: it is not.',
  operands: [],
  flags: {
    exact: {
      value: null,
      meaning:
        'Also ask about what needs the database: credits, strict limits, changes, and keys that are not in memory.',
    },
  },
  examples: ['keystile health', 'keystile health --exact', 'keystile health --port 7879 --json'],
  async run({ io, flags, isJson }) {
    const { config } = await readSettings(io, flags);
    const here = localUrl(config.host, config.port, config.tlsCert !== null);
    const url = config.url ?? here;
    const trust = config.url === null ? tryLocalTrust(config.tlsCert, here) : null;
    const response = await send(
      new Request(`${url}/v1/readiness${flags.has('exact') ? '?for=exact' : ''}`),
      trust,
    ).catch((error: unknown) => {
      throw unreachable(url, error);
    });
    const body = (await response.json().catch(() => null)) as Readiness | null;
    if (typeof body?.ready !== 'boolean') throw notKeystile(url, response.status);
    io.out(isJson ? jsonLine(body) : `${sentencesOf(body).join('\n')}\n`);
    return body.ready ? EXIT.OK : EXIT.FAILED;
  },
};

function sentencesOf({ ready, reasons = [], warnings = [] }: Readiness): string[] {
  return [ready === true ? 'The service is ready.' : 'The service is not ready.', ...reasons, ...warnings];
}
