// Entry of `npm run test:gateways`. Parsed by old Node versions too: see node-version.mjs.
import { requireSupportedNode } from './node-version.mjs';

requireSupportedNode();
void import('./development.mjs').then(function (development) {
  return development.gateways(process.argv.slice(2));
});
