import { EXIT } from '../../serve/exitCodes.ts';
import { type Ask, withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { jsonLine } from '../output/show.ts';
import { type CountedRow, type Look, topView, type TopStatus } from '../output/topView.ts';

const EVERY_MS = 2_000;
const HOUR_MS = 3_600_000;
const TOP_KEYS = 8;
const DEFAULT_HEIGHT = 40;
/** Apis that are looked at. */
const MAX_APIS = 20;

export const top: Command = {
  name: 'top',
  summary: 'Show what the service does, as it happens. Ctrl-C ends it.',
  operands: [],
  takesProfile: true,
  flags: { once: { value: null, meaning: 'Show it once. So does output that is no terminal.' } },
  examples: ['keystile top', 'keystile top --once --json'],
  async run(call) {
    const { io, flags, isJson } = call;
    const isOnce = flags.has('once') || isJson || !io.showsSecrets;
    await withService(call, async (ask) => {
      if (isOnce) {
        const found = await look(ask);
        io.out(isJson ? jsonLine(found) : topView(found, Infinity));
        return;
      }
      const ended = Promise.withResolvers<'ended'>();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.resolve('ended'));
      do {
        const height = (process.stdout.rows ?? DEFAULT_HEIGHT) - 1;
        io.out(`\u001b[H\u001b[2J${topView(await look(ask), height)}`);
      } while ((await Promise.race([ended.promise, Bun.sleep(EVERY_MS)])) !== 'ended');
    });
    return EXIT.OK;
  },
};

async function look(ask: Ask): Promise<Look> {
  const status = await ask<TopStatus>('service.getStatus', {});
  const { apis } = await ask<{ apis: { id: string; name: string }[] }>('apis.listApis', { limit: MAX_APIS });
  const ofApis = await Promise.all(apis.map(({ id, name }) => lookAtApi(ask, { apiId: id, name, nowMs: status.time })));
  const topKeys = ofApis.flatMap(({ keys }) => keys).toSorted((a, b) => b.total - a.total);
  return { status, minutes: addedUp(ofApis.map(({ minutes }) => minutes)), topKeys: topKeys.slice(0, TOP_KEYS) };
}

async function lookAtApi(ask: Ask, { apiId, name, nowMs }: { apiId: string; name: string; nowMs: number }) {
  const [minutes, keys] = await Promise.all([
    ask<CountedRow[]>('analytics.getVerifications', { apiId, groupBy: 'minute' }),
    ask<CountedRow[]>('analytics.getVerifications', {
      apiId,
      groupBy: ['key', 'identity'],
      start: nowMs - HOUR_MS,
      limit: TOP_KEYS,
    }),
  ]);
  return { minutes, keys: keys.filter(({ keyId }) => keyId !== undefined).map((row) => ({ ...row, api: name })) };
}

/** The minutes of all apis: every api has the same ones. */
function addedUp(lists: readonly (readonly CountedRow[])[]): CountedRow[] {
  const sums = new Map<number, Record<string, number>>();
  for (const { time = 0, ...row } of lists.flat()) {
    const sum = sums.get(time) ?? {};
    for (const [name, value] of Object.entries(row))
      if (typeof value === 'number') sum[name] = (sum[name] ?? 0) + value;
    sums.set(time, sum);
  }
  return [...sums].toSorted(([a], [b]) => a - b).map(([time, sum]) => ({ ...sum, time, total: sum['total'] ?? 0 }));
}
