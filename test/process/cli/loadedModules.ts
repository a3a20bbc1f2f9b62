/** Preloaded into a command: at its end it writes the paths of all modules that the command has loaded, one on a line. */

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { cache } = createRequire(import.meta.url);
process.on('exit', () => writeFileSync(process.env['LOADED_MODULES'] ?? '', Object.keys(cache).join('\n')));
