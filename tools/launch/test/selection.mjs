import { existsSync, readdirSync, statSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';

import { Complaint } from '../complaint.mjs';
import { fromProjectRoot, projectRoot } from '../project.mjs';

/**
 * @typedef {{ name: string, files: string[], titlePattern?: string }} SelectedGroup
 *   files: test files relative to the project, sorted
 */

const TEST_GROUPS = [
  'project',
  'core',
  'config',
  'engine',
  'storage',
  'cli',
  'serve',
  'tools',
  'postgres',
  'http',
  'process',
  'alone',
];
const ALL_GROUPS = ['check', ...TEST_GROUPS];
const TEST_FILE = /\.test\.ts$/;

/**
 * `npm test -- [GROUP | FILE | FOLDER]... [-t TITLE]`. Nothing selected means everything.
 *
 * @param {string[]} commandArguments
 * @returns {SelectedGroup[]}
 */
export function selectGroups(commandArguments) {
  const { targets, titlePattern } = parse(commandArguments);
  // A title can only match tests, so naming one leaves the checks out.
  const everything = titlePattern === undefined ? ALL_GROUPS : TEST_GROUPS;
  const selected = targets.length > 0 ? targets : everything;
  return ALL_GROUPS.flatMap((name) => {
    const ofGroup = selected.filter((target) => groupOf(target) === name);
    if (ofGroup.length === 0) return [];
    const files = new Set(ofGroup.flatMap((target) => (target === 'check' ? [] : testFilesOf(target))));
    return [
      {
        name,
        files: [...files].sort((left, right) => left.localeCompare(right)),
        ...(titlePattern !== undefined && { titlePattern }),
      },
    ];
  });
}

/** @param {string[]} commandArguments */
function parse(commandArguments) {
  /** @type {string[]} */
  const targets = [];
  let titlePattern;
  for (let i = 0; i < commandArguments.length; i++) {
    const argument = commandArguments[i];
    if (argument === '-t' || argument === '--test-name-pattern') titlePattern = commandArguments[++i] ?? '';
    else if (argument.startsWith('-')) throw new Complaint(`npm test knows -t TITLE, but not ${argument}.`);
    else targets.push(argument);
  }
  return { targets, titlePattern };
}

/** @param {string} target */
function groupOf(target) {
  if (ALL_GROUPS.includes(target)) return target;
  const [folder, group] = relative(projectRoot, resolve(projectRoot, target)).split(sep);
  if (folder === 'test' && TEST_GROUPS.includes(group)) return group;
  throw new Complaint(
    `"${target}" is neither a group of tests (${ALL_GROUPS.join(', ')}) nor a file in one of their folders under test/.`,
  );
}

/** @param {string} target */
function testFilesOf(target) {
  const path = TEST_GROUPS.includes(target) ? fromProjectRoot(`test/${target}`) : resolve(projectRoot, target);
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [relative(projectRoot, path)];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => TEST_FILE.test(name))
    .map((name) => relative(projectRoot, resolve(path, name)));
}
