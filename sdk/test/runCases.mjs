/**
 * Runs clients/cases.json with the SDK against a running service. Plain JavaScript, so that every runtime can run it as it is.
 *
 * @param {typeof import('../src/index.ts')} sdk
 * @param {{ cases: { name: string, key: object, steps: Record<string, any>[] }[] }} file
 * @param {{ url: string, rootKey: string }} service
 * @returns {Promise<string[]>} what differs
 */
export async function runCases({ Keystile }, { cases }, service) {
  const keystile = new Keystile({ ...service, timeoutMs: 10_000, totalTimeoutMs: 20_000 });
  const [own, other] = await Promise.all(['own api', 'other api'].map((name) => keystile.apis.create({ name })));
  const apiIds = { own: own.apiId, other: other.apiId };
  const differences = [];
  for (const { name, key: fields, steps } of cases) {
    const made = await keystile.keys.create({ ...fields, apiId: own.apiId });
    const state = { keyId: made.keyId, key: made.key, previous: '' };
    for (const [index, step] of steps.entries()) {
      const difference = await runStep(keystile, state, step, apiIds);
      if (difference !== null) differences.push(`${name}, step ${index + 1}: ${difference}`);
    }
  }
  return differences;
}

async function runStep(keystile, state, step, apiIds) {
  const { keyId } = state;
  if (step.update) await keystile.keys.update({ keyId, ...step.update });
  if (step.updateRemaining) await keystile.keys.updateRemaining({ keyId, ...step.updateRemaining });
  if (step.delete) await keystile.keys.delete({ keyId, ...step.delete });
  if (step.rotate) {
    state.previous = state.key;
    state.key = (await keystile.keys.rotate({ keyId, ...step.rotate })).key;
  }
  if (!step.verify) return null;
  const key = step.text === 'previous' ? state.previous : (step.text ?? state.key);
  const { apiId, ...options } = step.verify;
  const verdict = await keystile.verify(key, apiId ? { ...options, apiId: apiIds[apiId] } : options);
  const { cause, ...expected } = step.expect;
  const seen = { ...verdict, cause: verdict.cause?.code };
  const wanted = cause ? { ...expected, cause } : expected;
  return contains(seen, wanted) ? null : `expected ${JSON.stringify(wanted)}, got ${JSON.stringify(seen)}`;
}

/** Whether `seen` has everything that `wanted` has. Lists are compared as a whole. */
function contains(seen, wanted) {
  if (typeof wanted !== 'object' || wanted === null) return seen === wanted;
  if (typeof seen !== 'object' || seen === null) return false;
  if (Array.isArray(wanted) && (!Array.isArray(seen) || seen.length !== wanted.length)) return false;
  return Object.entries(wanted).every(([name, value]) => contains(seen[name], value));
}
