import { afterAll } from 'bun:test';

import { endAllAtOnce } from '../../tools/cluster/watchdog.ts';

/** Loaded before all tests: a run of `bun test` ends without the event in which a process could clean up behind itself. */
afterAll(() => endAllAtOnce());
