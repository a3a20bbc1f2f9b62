// Entry of `npm pack`. Parsed by old Node versions too: see node-version.mjs.
import { requireSupportedNode } from './node-version.mjs';

requireSupportedNode();
void import('./development.mjs').then(function (development) {
  return development.pack();
});
