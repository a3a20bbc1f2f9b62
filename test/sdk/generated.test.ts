import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Static } from 'typebox';

import type { VerifyRequest } from '../../sdk/src/generated/api.ts';
import { CALLS } from '../../sdk/src/generated/values.ts';
import type { KeyState, VerdictCode } from '../../sdk/src/index.ts';
import type { VerdictCode as ServiceVerdictCode } from '../../src/core/verdictCodes.ts';
import { VERDICT_STATUS } from '../../src/http/verify/verdictAnswer.ts';
import cases from '../../clients/cases.json';
import { openApi } from '../../src/http/docs/openApi.ts';
import type { VerdictObject } from '../../src/http/shapes/keys/verdictSchema.ts';
import type { VerifyBody } from '../../src/http/verify/verifyRequest.ts';
import { goRecords, pythonRecords } from '../../tools/scripts/clientRecords.ts';
import { sdkDeclarations } from '../../tools/scripts/sdkDeclarations.ts';
import { sdkTypes, sdkValues } from '../../tools/scripts/sdkTypes.ts';

/** Without what the formatter decides: space, line ends, quotes, and commas and bars before or after a line end. */
const bare = (text: string): string => text.replaceAll(/[\s;,|'"()]/g, '');

test('the types of the SDK are those that the schemas of the service make: run `npm run docs`', () => {
  expect(bare(readFileSync('sdk/src/generated/api.ts', 'utf8'))).toBe(bare(sdkTypes()));
  expect(bare(readFileSync('sdk/src/generated/values.ts', 'utf8'))).toBe(bare(sdkValues()));
});

test('the records of the Python and the Go client are those of the service: run `npm run docs`', () => {
  expect(readFileSync('clients/python/src/keystile/records.py', 'utf8')).toBe(pythonRecords());
  expect(readFileSync('clients/go/records.go', 'utf8')).toBe(goRecords());
});

test('times and switches of the Go client, whose types are read from words: a field that is zero is not the same as none', () => {
  const fields = [...goRecords().matchAll(/^type (\w+) struct|^\t(\w+) (\*?(?:Time|bool)|\*Change\[Time\]) /gm)];
  let record = '';
  const found = fields.flatMap(([, struct, name, type]) => {
    record = struct ?? record;
    return name === undefined ? [] : [`${record}.${name} ${type}`];
  });
  expect(found).toEqual([
    'CreateKeyRequest.Enabled *bool',
    'CreateKeyRequest.MustExist bool',
    'CreateKeyRequest.Expires *Time',
    'CreateKeyRequest.Metered bool',
    'Key.Enabled bool',
    'Key.CreatedAt Time',
    'Key.UpdatedAt Time',
    'Key.Expires Time',
    'Key.Metered bool',
    'Key.LastUsedAt Time',
    'UpdateKeyRequest.Enabled *bool',
    'UpdateKeyRequest.MustExist bool',
    'UpdateKeyRequest.Expires *Change[Time]',
    'UpdateKeyRequest.Metered *bool',
    'CreateIdentityRequest.Enabled *bool',
    'CreateIdentityRequest.Metered bool',
    'Identity.Enabled bool',
    'Identity.Metered bool',
    'UpdateIdentityRequest.Enabled *bool',
    'UpdateIdentityRequest.Metered *bool',
    'RefillState.LastRefillAt Time',
    'RefillState.NextRefillAt Time',
    'PlanMove.At Time',
    'Grant.ExpiresAt Time',
  ]);
});

test('the declarations in sdk/types are those that the compiler makes from the sources: run `npm run docs`', async () => {
  const made = await sdkDeclarations();
  const there = [...new Bun.Glob('**/*').scanSync('sdk/types')].toSorted();
  expect(there).toEqual([...made.keys()].toSorted());
  for (const [path, text] of made) expect(bare(readFileSync(`sdk/types/${path}`, 'utf8'))).toBe(bare(text));
});

test('the SDK has a method for every endpoint, and no other', () => {
  // Only gateways call keys.forwardAuth. It has no POST in the document.
  const posted = Object.entries(openApi(null).paths).filter(([path, methods]) => path.includes('.') && methods['post']);
  const paths = posted.map(([path]) => path);
  expect(CALLS.map(({ path }) => path).sort()).toEqual(paths.sort());
});

test('the status that every client answers for a code is that of the service', () => {
  const { VALID: _passes, ...refusals } = VERDICT_STATUS;
  expect(cases.status).toEqual(refusals);
});

/** Compiles only when the first type can be used as the second. */
type Fits<A extends B, B> = [A, B];
type Fields = keyof Static<typeof VerdictObject>;
/** `answeredAt` is from a header of the answer. */
type KnownFields = Exclude<keyof KeyState, 'answeredAt'> | 'valid' | 'code';

/** A request and a verdict have the same type in the service and in the SDK. */
export type Checked = [
  // The service reads the inside of a permission query by itself.
  Fits<Omit<Static<typeof VerifyBody>, 'authorization'>, Omit<VerifyRequest, 'authorization'>>,
  Fits<keyof VerifyRequest, keyof Static<typeof VerifyBody>>,
  Fits<VerdictCode, ServiceVerdictCode>,
  Fits<ServiceVerdictCode, VerdictCode>,
  Fits<Fields, KnownFields>,
  Fits<KnownFields, Fields>,
];
