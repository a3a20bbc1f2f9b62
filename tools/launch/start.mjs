// Entry of `npm start`. Parsed by old Node versions too: see node-version.mjs.
import { requireSupportedNode } from './node-version.mjs';

requireSupportedNode();
void import('./keystile.mjs').then(function (launcher) {
  return launcher.runKeystile(['serve'].concat(process.argv.slice(2)));
});
