import { Complaint } from '../launch/complaint.mjs';
import { fromProjectRoot } from '../launch/project.mjs';
import { runBun } from '../launch/run.mjs';

/** Writes sdk/dist. The runtime of the service does that: neither a compiler nor a framework is needed. */
export async function buildSdk() {
  const { code } = await runBun([fromProjectRoot('tools/sdk/build.ts')]);
  if (code !== 0) throw new Complaint('The SDK could not be built.', 1);
}
