import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import { until } from '../../../tools/cluster/wait.ts';
import { type Answer, TestService } from '../../support/service.ts';

const MAX_WAITING = 50;
const CREDITS = 10_000;

let service: TestService;
/** Someone who can hold up every commit. */
let holder: Database;

beforeEach(async () => {
  service = await TestService.start({ settings: { KEYSTILE_MAX_WAITING: String(MAX_WAITING) } });
  holder = new Database(join(service.folder, 'keystile.db'));
});

afterEach(async () => {
  holder.close();
  await service.close();
});

const verify = (key: string): Promise<Answer> => service.call('/v1/keys.verifyKey', { key }, { rootKey: null });
const refusalOf = ({ status, body, headers }: Answer) => [status, body.error.code, headers.get('retry-after')];
const REFUSED = [503, 'UNAVAILABLE', '1'];

/** Sends a verification and lets its commit begin, which is held up. Its answer comes in a list: it is not waited for here. */
async function holdUp(key: string): Promise<Promise<Answer>[]> {
  const { ledger } = service.storage;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  holder.run('BEGIN IMMEDIATE');
  const answer = verify(key);
  while (ledger.waiting === 0) await turn();
  while (ledger.waiting > 0) await turn();
  return [answer];
}

describe('while a commit takes its time', () => {
  test.each([2, 10])('%p times as much as may wait: the rest is refused at once and costs nothing', async (times) => {
    const [{ key }, local] = [
      await service.createKey({ remaining: CREDITS }),
      await service.createKey({ ratelimit: { limit: 100, duration: 60_000 } }),
    ];
    await service.verify(local.key);
    const asked = await holdUp(key);
    const refused: Answer[] = [];
    for (let i = 0; i < times * MAX_WAITING; i++) {
      asked.push(
        verify(key).then((answer) => {
          if (answer.status !== 200) refused.push(answer);
          return answer;
        }),
      );
    }
    await until('those above the bound have ended', () => refused.length === (times - 1) * MAX_WAITING);
    expect(service.storage.ledger.waiting).toBe(MAX_WAITING);
    expect(refused.map(refusalOf)).toEqual(refused.map(() => REFUSED));
    expect(refusalOf(await service.call('/v1/apis.createApi', { name: 'one change more' }))).toEqual(REFUSED);
    expect(await service.verify(local.key)).toMatchObject({ valid: true, ratelimit: { remaining: 98 } });
    holder.run('COMMIT');
    const answers = (await Promise.all(asked)).filter((answer) => !refused.includes(answer));
    const left = answers.map(({ body }) => body.remaining as number).sort((a, b) => b - a);
    expect(left).toEqual(Array.from({ length: 1 + MAX_WAITING }, (_, i) => CREDITS - 1 - i));
    await service.restart();
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: CREDITS - 1 - MAX_WAITING - 1 });
  });
});
