import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { standbyFact } from '../../src/cli/doctor/examineAll.ts';
import { defineCheck } from '../../src/doctor/check.ts';
import { CHECKS, examine, toStatus } from '../../src/doctor/examine.ts';
import { type Facts, noneKnown, NotKnown } from '../../src/doctor/facts.ts';
import { OUTSIDE } from '../../src/doctor/statusReader.ts';
import { BROKEN, VARIANTS } from './brokenFacts.ts';
import { BACKUPS, configOf, FILE, TOP, WELL } from './facts.ts';

const problemsOf = (facts: Partial<Facts>) => toStatus(examine({ ...WELL, ...facts })).problems;
const namesOf = (found: readonly { readonly name: string }[]): string[] => found.map(({ name }) => name);

describe('checks', () => {
  test('nothing is found where all is well, and every check says what it makes sure of', () => {
    const { problems, checks } = toStatus(examine(WELL));
    expect(problems).toEqual([]);
    expect(checks.every(({ isOk, meaning }) => isOk && meaning.endsWith('.'))).toBe(true);
  });

  test('each check has a case here, and a name of its own', () => {
    expect(namesOf(CHECKS)).toEqual(Object.keys(BROKEN));
  });

  test('the documentation lists every check, and marks those that a service does not make about itself', () => {
    const page = readFileSync(join(import.meta.dir, '../../docs/operations.md'), 'utf8');
    const listed = /^\| Check \|[\s\S]*?\n\n/m.exec(page)?.[0] ?? '';
    const first = [...listed.matchAll(/^\| (`.*?) \|/gm)].map((match) => match[1] ?? '').join(', ');
    const marks = new Map(
      [...first.matchAll(/`([\w-]+)`( \*)?/g)].map(([, name, mark]) => [name ?? '', mark === ' *']),
    );
    expect([...marks.keys()].sort()).toEqual(namesOf(CHECKS).sort());
    const alone = { ...WELL, ...noneKnown(OUTSIDE, 'only keystile doctor looks at this, from outside') };
    const unmade = examine(alone).filter(({ result }) => result === 'not-checked');
    expect([...marks].flatMap(([name, isMarked]) => (isMarked ? name : [])).sort()).toEqual(namesOf(unmade).sort());
  });

  test.each(Object.entries(BROKEN))(
    '%s finds what is wrong, alone, and says what to do with which command',
    (name, [facts, tells, command]) => {
      const { problems, checks } = toStatus(examine({ ...WELL, ...facts }));
      expect(namesOf(problems)).toEqual([name]);
      expect(problems[0]?.text).toContain(tells);
      expect(problems[0]?.fix).toEndWith('.');
      expect(problems[0]?.command).toBe(command);
      expect(namesOf(checks.filter(({ isOk }) => !isOk))).toEqual([name]);
    },
  );

  test.each(VARIANTS)('%s: %j', (name, facts, tells) => {
    const problems = problemsOf(facts);
    expect(namesOf(problems)).toEqual([name]);
    expect(problems[0]?.text).toContain(tells);
  });

  test('what nobody can reach through its folder is not open to others', () => {
    const folder = [
      { ...TOP, mode: 0o700 },
      { ...FILE, mode: 0o644 },
    ];
    expect(problemsOf({ folder })).toEqual([]);
  });

  test('who has no access is told to be the user of the folder, or to give that user access', () => {
    const commandFor = (isOwn: boolean) =>
      problemsOf({ folder: [{ ...TOP, isOwn, isAccessible: false }, FILE] })[0]?.command;
    expect([commandFor(true), commandFor(false)]).toEqual(['chmod -R u+rwX ./data', "sudo -u '#1000' keystile doctor"]);
  });

  test('a newer schema that this program can use is no problem', () => {
    expect(problemsOf({ schema: { version: 3, compatibleFrom: 1, own: 1, isForeign: false } })).toEqual([]);
    expect(problemsOf({ openFiles: { limit: null, fitting: 20_000, needed: 21_140 } })).toEqual([]);
  });

  test('as many standbys must be connected as commits wait for', () => {
    const isFound = (awaited: string, synchronous: number): boolean =>
      problemsOf({ standby: { awaited, synchronous } }).length > 0;
    for (const two of ['FIRST 2 (a, b)', 'ANY 2 (a, b, c)', 'any 2(*)', ' 2 (a, b)']) {
      expect([two, isFound(two, 1), isFound(two, 2)]).toEqual([two, true, false]);
    }
    for (const one of ['a, b', '*', 'FIRST 1 (a, b)', '"2 (x)"', 'any2']) {
      expect([one, isFound(one, 0), isFound(one, 1)]).toEqual([one, true, false]);
    }
    expect(isFound('', 0)).toBe(false);
    expect(problemsOf({ standby: { awaited: 'ANY 2 (a, b)', synchronous: 1 } })[0]?.text).toBe(
      'PostgreSQL waits for 2 standbys with every commit (synchronous_standby_names = ANY 2 (a, b)), and 1 of them is connected: every spend is answered 503.',
    );
  });

  test('standbys that this user may not see are not known, unless none is awaited', () => {
    expect(standbyFact({ awaited: 'a', synchronous: null })).toBeInstanceOf(NotKnown);
    expect(standbyFact({ awaited: 'a', synchronous: 1 })).toEqual({ awaited: 'a', synchronous: 1 });
    expect(standbyFact({ awaited: '', synchronous: null })).toEqual({ awaited: '', synchronous: 0 });
  });

  test('a check without its facts says why it was not made, and is in no list of the status', () => {
    const gathered = { ...WELL, ...noneKnown(['nodes', 'webhooks'], 'the database does not answer') };
    const outcomes = examine(gathered);
    const unmade = outcomes.filter(({ result }) => result === 'not-checked');
    expect(namesOf(unmade)).toEqual(['nodes', 'freshness', 'local-counts', 'webhooks', 'clocks', 'versions']);
    expect(unmade.every((each) => 'because' in each && each.because === 'the database does not answer')).toBe(true);
    expect(toStatus(outcomes).checks.length).toBe(CHECKS.length - unmade.length);
    expect(toStatus(outcomes).problems).toEqual([]);
  });

  test('a check that fails itself is a problem in words, and throws nothing', () => {
    const broken = defineCheck({
      name: 'broken',
      meaning: 'It works.',
      severity: 'advice',
      needs: ['waiting'],
      find() {
        throw new Error('of a bug');
      },
    });
    expect(broken.look(WELL)).toMatchObject({
      result: 'problem',
      text: 'The check itself failed: of a bug.',
      fix: 'This is a bug in Keystile. Please report it, with the version.',
      command: 'keystile --version',
    });
    expect(broken.look({ ...WELL, waiting: new NotKnown('no server is running') })).toMatchObject({
      result: 'not-checked',
      because: 'no server is running',
    });
  });

  test('names in commands are quoted for a shell', () => {
    const config = configOf({ KEYSTILE_DATA: "it's here; rm x" });
    expect(problemsOf({ config, databaseFailure: { text: 'x.', cause: null } })[0]?.command).toBe(
      String.raw`df -h 'it'\''s here; rm x'`,
    );
  });

  test('a backup that was due twice is missing, and one that failed is told even when there is none yet', () => {
    const state = { ...BACKUPS, everyMs: 300_000, newestAtMs: 340_000 };
    const textsOf = (backups: Facts['backups']) => problemsOf({ backups }).map(({ text }) => text);
    expect(textsOf(state)).toEqual(['A backup is due every 5 minutes. The newest one is 11 minutes old.']);
    expect(textsOf({ ...state, newestAtMs: 340_001 })).toEqual([]);
    const none = { ...state, newestAtMs: null };
    expect(textsOf({ ...none, firstAwaitedSinceMs: 340_001 })).toEqual([]);
    expect(textsOf({ ...none, firstAwaitedSinceMs: 340_000 })).toEqual([
      'A backup is due every 5 minutes. There is no backup yet.',
    ]);
    expect(textsOf(none)).toEqual([
      'A backup is due every 5 minutes. No backup of this data folder was found in /backups.',
    ]);
    expect(textsOf({ ...none, firstAwaitedSinceMs: 340_001, failure: 'No.' })).toEqual([
      'Scheduled backups fail: No. There is no backup yet.',
    ]);
  });

  test('a webhook that is paused is told with its reason, and a public address behind TLS is none', () => {
    const paused = { id: 'wh_2', host: 'b.example', pausedBecause: 'it answered 500', failingSinceMs: null };
    expect(problemsOf({ webhooks: [paused] })[0]?.text).toContain('is paused (it answered 500)');
    const config = configOf({
      KEYSTILE_HOST: '0.0.0.0',
      KEYSTILE_VERIFY_AUTH: 'required',
      KEYSTILE_PUBLIC_URL: 'https://keys.example',
    });
    expect(problemsOf({ config })).toEqual([]);
    const plain = configOf({
      KEYSTILE_HOST: '0.0.0.0',
      KEYSTILE_VERIFY_AUTH: 'required',
      KEYSTILE_PUBLIC_URL: 'http://keys.example',
      KEYSTILE_TRUSTED_PROXIES: '10.0.0.1',
    });
    expect(namesOf(problemsOf({ config: plain }))).toEqual(['tls']);
  });
});
