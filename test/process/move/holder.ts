/** Holds a service as an export with --move does, as far as its argument says, and waits to be killed. */
import { readConfig } from '../../../src/config/read.ts';
import { holdForMove } from '../../../src/cli/move/hold.ts';

const { config } = readConfig({
  environment: { KEYSTILE_DATA: process.env['KEYSTILE_DATA'] },
  flags: {},
  readFile: () => '',
});
if (config === null) throw new Error('no configuration');
const hold = await holdForMove(config, 'export_test');
if (process.argv[2] === 'accounts') await hold.accounts();
// The hold must not depend on what the runtime collects.
Bun.gc(true);
process.stdout.write('held\n');
setInterval(() => {}, 60_000);
