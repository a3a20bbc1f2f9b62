// Entry of `npm run bench`. Parsed by old Node versions too: see node-version.mjs.
import { requireSupportedNode } from './node-version.mjs';

requireSupportedNode();
void import('./development.mjs').then(function (development) {
  return development.bench(process.argv.slice(2));
});
