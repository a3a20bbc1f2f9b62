import { readFileSync } from 'node:fs';

import * as sdk from '@keystile/sdk';

import { runCases } from './runCases.mjs';

// Runs the shared cases in the runtime that runs this file: cases.mjs URL ROOT_KEY. The last line is what differed, as JSON.
const [url, rootKey] = process.argv.slice(2);
const file = JSON.parse(readFileSync(new URL('../../clients/cases.json', import.meta.url), 'utf8'));
console.log(JSON.stringify(await runCases(sdk, file, { url, rootKey })));
