import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type Check, Failure, step } from './steps.ts';

const NPM = { command: 'npm', install: 'https://nodejs.org' };
const INSTALL = ['npm', 'install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts'];

const redocly: Check = {
  name: 'redocly',
  needs: [NPM],
  async run(document, folder) {
    writeFileSync(join(folder, 'package.json'), '{"private": true}');
    await step(folder, [...INSTALL, '@redocly/cli@2.73.0']);
    const lint = ['npx', 'redocly', 'lint', document, '--extends', 'recommended', '--format', 'json'];
    const report = await step(folder, lint, { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' });
    const { totals, problems } = JSON.parse(report) as {
      totals: { errors: number; warnings: number };
      problems: readonly object[];
    };
    const found = `${totals.errors} errors, ${totals.warnings} warnings`;
    if (totals.errors + totals.warnings > 0) throw new Failure(`${found}\n${JSON.stringify(problems, null, 2)}`);
    return found;
  },
};

/** A program that uses the generated types where a mistake in the document would show. */
const TYPESCRIPT_USE = `import createClient from 'openapi-fetch';
import type { components, paths } from './schema.ts';

const client = createClient<paths>({ baseUrl: 'http://127.0.0.1:7878' });
const permissions = { and: ['documents.read', { or: ['billing.pay', null] }] };
const { data, error } = await client.POST('/v1/keys.verifyKey', { body: { key: 'k', authorization: { permissions } } });
const code: components['schemas']['VerdictCode'] | undefined = data?.code;
const failure: components['schemas']['ErrorCode'] | undefined = error?.error.code;
const key = await client.GET('/v1/keys.getKey', { params: { query: { keyId: 'key_1' } } });
const remaining: number | undefined = key.data?.remaining;
// @ts-expect-error there is no such field
const request: components['schemas']['KeysCreateKeyRequest'] = { apiId: 'api_1', remainning: 5 };
console.log(code, failure, remaining, request);
`;

const typescript: Check = {
  name: 'typescript',
  needs: [NPM],
  async run(document, folder) {
    writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
    await step(folder, [...INSTALL, 'openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3']);
    await step(folder, ['npx', 'openapi-typescript', document, '--output', 'schema.ts']);
    writeFileSync(join(folder, 'use.ts'), TYPESCRIPT_USE);
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
    await step(folder, ['npx', 'tsc', ...options, '--allowImportingTsExtensions', '--skipLibCheck', 'use.ts']);
    return 'the types of openapi-typescript compile, with a program that uses them';
  },
};

/** Loads every generated module. */
const PYTHON_USE = `import importlib, pkgutil, client
names = [each.name for each in pkgutil.walk_packages(client.__path__, 'client.')]
for name in names: importlib.import_module(name)
from client.models import ErrorCode, Verdict, VerdictCode, VerifyRequest
request = VerifyRequest.from_dict({'key': 'k', 'authorization': {'permissions': {'and': ['a', {'or': ['b', None]}]}}})
assert request.to_dict()['authorization']['permissions'] == {'and': ['a', {'or': ['b', None]}]}
assert VerdictCode.RATE_LIMITED == 'RATE_LIMITED' and ErrorCode.OUTCOME_UNKNOWN == 'OUTCOME_UNKNOWN'
print(len(names))
`;

const python: Check = {
  name: 'python',
  needs: [{ command: 'python3', install: 'apt-get install python3 python3-venv' }],
  async run(document, folder) {
    await step(folder, ['python3', '-m', 'venv', 'venv']);
    const inVenv = (program: string): string => join(folder, 'venv', 'bin', program);
    await step(folder, [inVenv('pip'), 'install', '--quiet', 'openapi-python-client==0.29.1', 'ruff==0.17.4']);
    const generate = ['generate', '--path', document, '--output-path', 'client', '--meta', 'none', '--fail-on-warning'];
    const path = `${join(folder, 'venv', 'bin')}:${process.env['PATH']}`;
    await step(folder, [inVenv('openapi-python-client'), ...generate], { PATH: path });
    const count = (await step(folder, [inVenv('python'), '-c', PYTHON_USE])).trim();
    return `all ${count} modules of openapi-python-client load, and a request keeps its form`;
  },
};

/** Uses the generated types where a mistake in the document would show. */
const GO_USE = `package keystile

var _ = Verdict{Code: VerdictCodeRATELIMITED}
var _ = VerifyRequest{Key: "k"}
var _ ClientInterface = &Client{}
var remaining *int64 = Key{}.Remaining
`;

const go: Check = {
  name: 'go',
  needs: [{ command: 'go', install: 'https://go.dev/dl' }],
  async run(document, folder) {
    writeFileSync(join(folder, 'go.mod'), 'module keystile.example/client\n\ngo 1.24.0\n');
    const generator = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
    await step(folder, [
      'go',
      'run',
      generator,
      '-generate',
      'types,client',
      '-package',
      'keystile',
      '-o',
      'client.go',
      document,
    ]);
    writeFileSync(join(folder, 'use.go'), GO_USE);
    await step(folder, ['go', 'get', 'github.com/oapi-codegen/runtime@v1.8.0']);
    await step(folder, ['go', 'mod', 'tidy']);
    await step(folder, ['go', 'vet', './...']);
    return 'the client of oapi-codegen compiles';
  },
};

export const CHECKS: readonly Check[] = [redocly, typescript, python, go];
