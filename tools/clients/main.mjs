import { spawn } from 'node:child_process';

import { projectRoot } from '../launch/project.mjs';
import { buildSdk } from '../sdk/build.mjs';
import { missingForGo } from './missing.mjs';
import { startService } from './service.mjs';
import { STEPS } from './steps.mjs';

/**
 * Builds the SDK and tests it and the clients in other languages. What cannot be tested, because a toolchain is not installed, is named.
 * The last line counts every test.
 */
export async function testClients() {
  // Beside the steps before its own, which leave processors idle.
  if (missingForGo() === null)
    spawn('nice', ['sh', 'clients/go/test.sh', 'build'], { cwd: projectRoot, stdio: 'ignore' });
  await buildSdk();
  const service = await startService();
  const sum = { passed: 0, failed: 0 };
  try {
    for (const { title, missing, run } of STEPS) {
      const needed = missing?.() ?? null;
      if (needed !== null) {
        console.log(`not run  ${title}: ${needed}`);
        continue;
      }
      const { passed, failed } = run(service);
      console.log(
        `${failed === 0 ? 'ok     ' : 'FAILED '}  ${title}: ${passed} passed${failed > 0 ? `, ${failed} failed` : ''}`,
      );
      sum.passed += passed;
      sum.failed += failed;
    }
  } finally {
    await service.stop();
  }
  console.log(`\n${sum.passed} passed, ${sum.failed} failed`);
  return { code: sum.failed === 0 ? 0 : 1 };
}
