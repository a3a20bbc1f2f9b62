#!/usr/bin/env node
// Entry of the `keystile` command. Parsed by old Node versions too: see node-version.mjs.
import { requireSupportedNode } from '../tools/launch/node-version.mjs';

requireSupportedNode();
void import('../tools/launch/keystile.mjs').then(function (launcher) {
  return launcher.runKeystile(process.argv.slice(2));
});
