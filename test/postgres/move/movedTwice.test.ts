import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';

import { keystile } from '../../process/cli/cliRun.ts';
import { TempFolder } from '../../process/process.ts';
import { TestService } from '../../support/service.ts';
import { stoppedDatabase } from './moved.ts';

const MOVED = 'The service was moved, and does not start again. ';
const FIRST = `${MOVED}Import the data and start the new service, or go back with keystile data release.\n`;
const SECOND = `${MOVED}An earlier export with --move had already moved it. If that one was finished too, use only one of the two: both have the same credits. Run keystile data release only if neither is used.\n`;

/** Two moves of the same source, one after the other, that both succeed. */
async function expectTold(environment: Readonly<Record<string, string>>): Promise<void> {
  using folder = new TempFolder();
  const move = (file: string, ...flags: string[]) =>
    keystile(['data', 'export', folder.join(file), ...flags], { environment });
  expect(await move('first', '--move')).toMatchObject({ code: 0, err: FIRST });
  const second = await move('second', '--move', '--json');
  expect(second).toMatchObject({ code: 0, err: SECOND });
  expect(JSON.parse(second.out)).toMatchObject({ wasMoved: true });
  // A copy moves nothing.
  expect(JSON.parse((await move('copy', '--json')).out)).not.toHaveProperty('wasMoved');
  expect((await keystile(['data', 'release', '--yes'], { environment })).out).toBe('released\n');
  const afterRelease = await move('third', '--move', '--json');
  expect(afterRelease.err).toBe(FIRST);
  expect(JSON.parse(afterRelease.out)).toMatchObject({ wasMoved: false });
}

test('the second move of a stopped service says that there are two exports, of which one may be used', async () => {
  const service = await TestService.start();
  await service.stop();
  await expectTold({ KEYSTILE_DATA: service.folder });
  rmSync(service.folder, { recursive: true });
});

test('the second move of a database says that there are two exports, of which one may be used', async () => {
  await expectTold((await stoppedDatabase()).environment);
});
