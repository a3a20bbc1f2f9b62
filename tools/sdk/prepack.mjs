import { buildSdk } from './build.mjs';

// Run by `npm pack` and `npm publish` in sdk/: what is packed is what the sources say now.
await buildSdk();
