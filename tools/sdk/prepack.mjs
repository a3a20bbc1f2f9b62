import { ensureInstalled } from '../launch/install.mjs';
import { buildSdk } from './build.mjs';

// Run by `npm pack` and `npm publish` in sdk/, so that the package is built from the present sources. The runtime may not be installed yet.
await ensureInstalled({ dev: false });
await buildSdk();
