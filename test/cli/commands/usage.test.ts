import { expect, test } from 'bun:test';

import { addUsed, dayChart, topChart, type UsageRow, type UsedBy } from '../../../src/cli/commands/usage.ts';

const NOW = Date.parse('2026-03-15T12:00:00Z');

const row = (day: string, fields: Partial<UsageRow> = {}): UsageRow => ({
  keyId: 'key_1',
  start: Date.parse(day),
  opening: 0,
  granted: 0,
  refilled: 0,
  adjusted: 0,
  spent: 0,
  expired: 0,
  closing: 0,
  held: 0,
  ...fields,
});

test('a chart by day has a bar for each day that something was spent on, in eighths of a character', () => {
  const rows = [
    row('2026-03-13', { adjusted: 100, spent: 80, closing: 20 }),
    row('2026-03-15', { opening: 20, spent: 1, refilled: 5, closing: 24, held: 3 }),
  ];
  const start = Date.parse('2026-03-12T15:00:00Z');
  expect(dayChart(rows, { start, untilMs: NOW, hasBars: true })).toBe(
    [
      'DAY         SPENT',
      '2026-03-12      0',
      `2026-03-13     80  ${'█'.repeat(40)}`,
      '2026-03-14      0',
      '2026-03-15      1  ▌',
      'Sum: spent 81, granted 0, refilled 5, adjusted 100, expired 0. Balance: 24, of which reservations hold 3.',
      '',
    ].join('\n'),
  );
  expect(dayChart([], { start: NOW, untilMs: NOW, hasBars: false })).toBe(
    'DAY         SPENT\n2026-03-15      0\nNothing happened to these credits in this time.\n',
  );
});

test('of a long time only the days are shown on which something happened', () => {
  const start = Date.parse('2024-01-01');
  const chart = dayChart([row('2025-01-01', { spent: 7 })], { start, untilMs: NOW, hasBars: false });
  expect(chart.split('\n').slice(0, 2)).toEqual(['DAY         SPENT', '2025-01-01      7']);
  expect(chart.split('\n').length).toBe(4);
});

test('a chart of those who spent the most adds up their days and leaves out who spent nothing', () => {
  const sums = new Map<string, UsedBy>();
  const spent = { spent: 30 };
  addUsed(sums, row('2026-03-13', { spent: 10 }));
  addUsed(sums, row('2026-03-14', { spent: 5 }));
  addUsed(sums, { ...row('2026-03-14', spent), keyId: 'key_2', identityId: 'id_1', externalId: 'evil\u001b[2J' });
  addUsed(sums, { ...row('2026-03-14'), keyId: 'key_3' });
  const all = [...sums.values()];
  expect(topChart(all, { top: 10, hasBars: true })).toBe(
    [
      'WHO            SPENT',
      `evil\\u001b[2J     30  ${'█'.repeat(40)}`,
      `key_1             15  ${'█'.repeat(20)}`,
      'Sum of all 2: spent 45.',
      '',
    ].join('\n'),
  );
  expect(topChart(all, { top: 1, hasBars: false }).split('\n')).toEqual([
    'WHO            SPENT',
    'evil\\u001b[2J     30',
    'Sum of all 2: spent 45.',
    '',
  ]);
  expect(topChart([], { top: 1, hasBars: false })).toBe('Nobody has spent credits in this time.\n');
});
