import { readdirSync, statSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';

import { Complaint } from '../complaint.mjs';
import { projectRoot } from '../project.mjs';

/** The folders of test/, in the order of the summary. */
export const FOLDERS =
  'process postgres http browser sdk engine core model basics tools storage outgoing project serve cli config doctor telemetry faults pages alone'.split(
    ' ',
  );
/** Files that run every combination, or long random sequences. They stand beside the tests of the same thing. */
const LONG = { group: 'long', ending: '.long.test.ts' };
export const GROUPS = ['check', ...FOLDERS, LONG.group];
/**
 * They run when they are named: faults wait for what a real database does when it hangs, pages takes long, and alone measures real time, which
 * a slow or busy machine does not keep.
 */
const NAMED_ONLY = ['faults', 'pages', 'alone', LONG.group];

/** `npm test -- [GROUP | FILE | FOLDER]... [-t TITLE]`. Nothing selected means everything but NAMED_ONLY. Long files run when they are named. */
export function select(commandArguments) {
  const targets = [];
  let titlePattern;
  for (let i = 0; i < commandArguments.length; i++) {
    const argument = commandArguments[i];
    if (argument === '-t' || argument === '--test-name-pattern') titlePattern = commandArguments[++i] ?? '';
    else if (argument.startsWith('-')) throw new Complaint(`npm test knows -t TITLE, but not ${argument}.`);
    else targets.push(argument);
  }
  const selected = targets.length > 0 ? targets : GROUPS.filter((group) => !NAMED_ONLY.includes(group));
  const files = selected.filter((target) => target !== 'check').flatMap(testFilesOf);
  // A title can only match tests, so naming one leaves the checks out.
  return { checks: selected.includes('check') && titlePattern === undefined, files: [...new Set(files)], titlePattern };
}

/** @param {string} file a file of test/, or "check" */
export function groupOf(file) {
  return file.split(sep)[1] ?? file;
}

function testFilesOf(target) {
  if (target === LONG.group) return FOLDERS.flatMap(longFilesOf);
  const isNamed = (file) => resolve(projectRoot, file) === resolve(projectRoot, target);
  return filesOf(target).filter((file) => isNamed(file) || !file.endsWith(LONG.ending));
}

export function longFilesOf(folder) {
  return filesOf(folder).filter((file) => file.endsWith(LONG.ending));
}

/** All test files there. */
function filesOf(target) {
  const path = resolve(projectRoot, FOLDERS.includes(target) ? `test/${target}` : target);
  const [top, group] = relative(projectRoot, path).split(sep);
  if (top !== 'test' || !FOLDERS.includes(group)) {
    throw new Complaint(
      `"${target}" is neither a group of tests (${GROUPS.join(', ')}) nor a file in their folders in test/.`,
    );
  }
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory();
  const names = isFolder ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : [''];
  const tests = names
    .map((name) => relative(projectRoot, resolve(path, name)))
    .filter((file) => file.endsWith('.test.ts'));
  if (tests.length === 0) throw new Complaint(`There is no *.test.ts file in "${target}".`);
  return tests;
}
