// Entry of all npm commands for developers: the first argument is the name of one in development.mjs. Parsed by old Node versions too: see
// node-version.mjs.
import { requireSupportedNode } from './node-version.mjs';

requireSupportedNode();
void import('./development.mjs').then(function (development) {
  return development[process.argv[2]](process.argv.slice(3));
});
