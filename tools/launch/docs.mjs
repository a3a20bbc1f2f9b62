// Entry of `npm run docs`. Parsed by old Node versions too: see node-version.mjs.
import { requireSupportedNode } from './node-version.mjs';

requireSupportedNode();
void import('./development.mjs').then(function (development) {
  return development.docs(process.argv.slice(2));
});
