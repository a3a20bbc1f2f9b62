import { match, strictEqual } from 'node:assert';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { blocksIn, copyOf, startKeystile } from './example.mjs';
import { Program } from './program.mjs';

describe('examples/curl', async () => {
  const { url, rootKey } = await startKeystile();
  const folder = copyOf('curl');
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  const [[commands], [shown]] = [blocksIn(readme, 'sh'), blocksIn(readme, '')];
  const run = async (lines) => {
    const program = new Program({ folder, lines, environment: { KEYSTILE_URL: url } });
    return { code: await program.ended(), output: program.output };
  };

  test('the script prints what its README shows: passed, refused for credits, passed, refused for the limit', async () => {
    const { code, output } = await run(commands.replace('root_...', rootKey));
    strictEqual(output, shown);
    strictEqual(code, 0);
  });

  test('without a root key it says what to set', async () => {
    const { code, output } = await run('sh try.sh');
    match(output, /KEYSTILE_ROOT_KEY: Set it to the root key/);
    strictEqual(code === 0, false);
  });

  test('with a wrong root key it shows the error of the service, and stops', async () => {
    const { code, output } = await run(commands);
    match(output, /"code":"UNAUTHORIZED"/);
    strictEqual(output.includes('cost 2'), false);
    strictEqual(code, 1);
  });
});
