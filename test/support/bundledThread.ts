import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { PROGRAM_FILES } from '../../src/programFiles.ts';

/**
 * Loaded before all tests. The worker threads of services inside a test process run the bundle of the launcher
 * (tools/launch/bundle.mjs): from it a thread starts in half of the time, and the tests start a thousand.
 */
const program = process.env['KEYSTILE_TEST_PROGRAM'];
if (program !== undefined) {
  PROGRAM_FILES.thread = pathToFileURL(join(dirname(program), 'storage/sqlite/thread/thread'));
}
