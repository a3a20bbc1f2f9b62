import { rmSync } from 'node:fs';

import { goRecords, pythonRecords } from './clientRecords.ts';
import { importColumns } from './importColumns.ts';
import { endpointTable } from './endpointTable.ts';
import { plainLines } from './plainLines.ts';
import { sdkDeclarations } from './sdkDeclarations.ts';
import { sdkTypes, sdkValues } from './sdkTypes.ts';
import { takeViewer } from './viewer.ts';
import { DRAWN, GENERATED, regenerate } from './generatedDocs.ts';

const [what, version] = process.argv.slice(2);
if (what === 'viewer' && version !== undefined) await takeViewer(version);

for (const [path, make] of Object.entries(GENERATED)) {
  const file = Bun.file(path);
  await Bun.write(file, regenerate(await file.text(), make()));
}
for (const [path, make] of Object.entries(DRAWN)) await Bun.write(path, make());

// The formatter of the project gives them their form.
const FORMATTED = {
  'sdk/src/generated/api.ts': sdkTypes(),
  'sdk/src/generated/values.ts': sdkValues(),
  'src/cli/endpoint/endpoints.json': JSON.stringify(endpointTable()),
  'src/cli/import/columns.json': JSON.stringify(importColumns()),
  'web/ui/plainLines.json': JSON.stringify(plainLines()),
};
for (const [path, text] of Object.entries(FORMATTED)) await Bun.write(path, text);
// These are made in the form that the formatters of Python and Go want.
await Bun.write('clients/python/src/keystile/records.py', pythonRecords());
await Bun.write('clients/go/records.go', goRecords());
// From what was just written.
const declarations = [...(await sdkDeclarations())].map(([path, text]) => [`sdk/types/${path}`, text] as const);
rmSync('sdk/types', { recursive: true, force: true });
for (const [path, text] of declarations) await Bun.write(path, text);
const written = [...Object.keys(FORMATTED), ...declarations.map(([path]) => path)];
await Bun.spawn([process.execPath, 'node_modules/oxfmt/bin/oxfmt', ...written], { stdout: 'ignore' }).exited;
