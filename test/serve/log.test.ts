import { describe, expect, test } from 'bun:test';

import { Log, type LogLevel } from '../../src/log.ts';

function logTo(format: 'text' | 'json', level: LogLevel = 'debug'): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const nowMs = () => Date.parse('2026-03-15T12:00:00Z');
  return { log: new Log({ level, format, nowMs, write: (line) => lines.push(line) }), lines };
}

const FORGERIES = [
  'a\r\n2026-03-15T12:00:00.000Z info  forged',
  'a\nb',
  'a\u2028b\u2029c',
  '\u001b[2J\u001b[31mred',
  '\u009b31mred',
  'a\u0007\u0008\u007f\u0000',
  'a" level=error x="',
  '\ud800',
  'name=value level=error',
];

/** Breaks a line or steers a terminal. */
// oxlint-disable-next-line no-control-regex -- these are the characters that must not get through
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

describe('log', () => {
  test.each(['text', 'json'] as const)('%s: no value can begin a new line or steer a terminal', (format) => {
    const { log, lines } = logTo(format);
    for (const value of FORGERIES) log.info('a message', { value });
    expect(lines.length).toBe(FORGERIES.length);
    expect(lines.filter((line) => UNSAFE.test(line))).toEqual([]);
  });

  test('text: no value can be taken for another field', () => {
    const { log, lines } = logTo('text');
    for (const value of FORGERIES) log.info('a message', { value, last: 1 });
    for (const line of lines) {
      expect(line).toMatch(/^2026-03-15T12:00:00\.000Z info {2}a message value="(?:[^"\\]|\\.)*" last=1$/);
    }
  });

  test('json: a line is one object, and the values come back as they were', () => {
    const { log, lines } = logTo('json');
    for (const value of FORGERIES) log.warn('a message', { value, n: 1, is: true, none: null });
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      FORGERIES.map((value) => ({
        time: '2026-03-15T12:00:00.000Z',
        level: 'warn',
        message: 'a message',
        value,
        n: 1,
        is: true,
        none: null,
      })),
    );
  });

  test('text: plain words stand as they are, everything else in quotes', () => {
    const { log, lines } = logTo('text');
    log.error('stopped', {
      code: 'EIO',
      file: '/data/keystile.db',
      n: -1.5,
      is: false,
      none: null,
      name: 'two words',
      empty: '',
    });
    expect(lines).toEqual([
      '2026-03-15T12:00:00.000Z error stopped code=EIO file=/data/keystile.db n=-1.5 is=false none=null name="two words" empty=""',
    ]);
  });

  test('what is less important than the level is not written', () => {
    const levels = ['debug', 'info', 'warn', 'error'] as const;
    for (const [i, level] of levels.entries()) {
      const { log, lines } = logTo('json', level);
      for (const each of levels) log[each]('message');
      expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(levels.slice(i));
    }
  });
});

describe('lines that strangers can cause', () => {
  function limitedLog() {
    const clock = { nowMs: 0 };
    const lines: Record<string, unknown>[] = [];
    const log = new Log({
      level: 'info',
      format: 'json',
      nowMs: () => clock.nowMs,
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    const shown = () => lines.splice(0).map(({ message, n, times }) => [message, n, times]);
    return { clock, log, shown };
  }

  test('the first is written at once, then one in a second, the latest, with how many it stands for', () => {
    const { clock, log, shown } = limitedLog();
    for (let n = 1; n <= 400; n++) log.limited('warn', 'refused', { n });
    expect(shown()).toEqual([['refused', 1, undefined]]);
    clock.nowMs = 999;
    log.writeHeldBack();
    expect(shown()).toEqual([]);
    clock.nowMs = 1000;
    log.writeHeldBack();
    expect(shown()).toEqual([['refused', 400, 399]]);
    // Its second begins anew.
    log.limited('warn', 'refused', { n: 401 });
    expect(shown()).toEqual([]);
    clock.nowMs = 2000;
    log.limited('warn', 'refused', { n: 402 });
    expect(shown()).toEqual([['refused', 402, 2]]);
  });

  test('are written as the level says that is in force now', () => {
    const { log, shown } = limitedLog();
    log.level = 'error';
    log.limited('warn', 'refused', { n: 1 });
    log.level = 'debug';
    log.limited('debug', 'looked up', { n: 2 });
    expect(shown()).toEqual([['looked up', 2, undefined]]);
  });

  test('one alone is a plain line, whenever it comes', () => {
    const { clock, log, shown } = limitedLog();
    for (const n of [1, 2, 3]) {
      log.limited('warn', 'refused', { n });
      log.writeHeldBack();
      clock.nowMs += 1000;
      log.writeHeldBack();
    }
    expect(shown()).toEqual([1, 2, 3].map((n) => ['refused', n, undefined]));
  });

  test('kinds do not hide one another, and kinds without end are one kind', () => {
    const { clock, log, shown } = limitedLog();
    for (let n = 0; n < 1000; n++) log.limited('error', 'request failed', { n }, `kind ${n}`);
    // A hundred of them, and the first of all others.
    expect(shown().length).toBe(101);
    clock.nowMs = 1000;
    log.writeHeldBack();
    expect(shown()).toEqual([['request failed', 999, 899]]);
    clock.nowMs = 3000;
    log.writeHeldBack();
    log.writeHeldBack();
    log.limited('error', 'request failed', { n: 1000 }, 'another kind');
    expect(shown()).toEqual([['request failed', 1000, undefined]]);
  });

  test('what is held back when the process ends is written', () => {
    const { log, shown } = limitedLog();
    for (let n = 1; n <= 3; n++) log.limited('warn', 'refused', { n });
    shown();
    log.close();
    expect(shown()).toEqual([['refused', 3, 2]]);
  });

  test('a clock that is set back holds back nothing, and a level that is not written holds nothing', () => {
    const { clock, log, shown } = limitedLog();
    clock.nowMs = 10_000;
    log.limited('warn', 'refused', { n: 1 });
    clock.nowMs = 5000;
    log.limited('warn', 'refused', { n: 2 });
    log.limited('debug', 'unseen', { n: 3 });
    log.close();
    expect(shown().map(([, n]) => n)).toEqual([1, 2]);
  });
});
