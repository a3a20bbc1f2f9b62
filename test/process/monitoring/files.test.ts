import { describe, expect, test } from 'bun:test';

import { examine } from '../../../src/doctor/examine.ts';
import { noneKnown } from '../../../src/doctor/facts.ts';
import { OUTSIDE } from '../../../src/doctor/statusReader.ts';
import { BROKEN } from '../../doctor/brokenFacts.ts';
import { WELL } from '../../doctor/facts.ts';
import { ALERT_TESTS, ALERTS, DASHBOARD, INCIDENTS, type Panel } from './files.ts';

const NAMES = ALERTS.map(({ alert }) => alert);

describe('the alerts', () => {
  test('each has a section in docs/incidents.md, which its runbook names, and each section an alert', () => {
    const [, alerts = ''] = INCIDENTS.split(/^## Alerts$/m);
    expect([...alerts.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)).toEqual(NAMES);
    for (const { alert, annotations } of ALERTS)
      expect(annotations.runbook).toBe(`docs/incidents.md#${alert.toLowerCase()}`);
  });

  test('each has a name of its own, a severity that is known, and a sentence', () => {
    expect(new Set(NAMES).size).toBe(NAMES.length);
    for (const { labels, annotations } of ALERTS) {
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations.summary).toEndWith('.');
    }
    // What one scrape decides is a fact that does not come and go.
    const atOnce = ALERTS.filter((rule) => rule.for === undefined).map(({ alert }) => alert);
    expect(atOnce).toEqual(['KeystileBug', 'KeystileRestarts', 'KeystileDurabilityOff']);
  });

  test('each problem that a running service finds about itself has one, and its test fires it', () => {
    const unseen = noneKnown(OUTSIDE, 'only keystile doctor looks at it');
    const problems = Object.entries(BROKEN).flatMap(([name, [facts]]) => {
      const outcome = examine({ ...WELL, ...facts, ...unseen }).find((each) => each.name === name);
      return outcome?.result === 'problem' ? name : [];
    });
    expect(problems.length).toBeGreaterThan(10);
    const checksIn = (text: string): string[] =>
      [...text.matchAll(/keystile_check\{[^}]*\bcheck=~?"([^"]+)"/g)].flatMap(([, names = '']) => names.split('|'));
    expect([...new Set(ALERTS.flatMap(({ expr }) => checksIn(expr)))].sort()).toEqual(problems.sort());
    const [, firing = ''] = ALERT_TESTS.split('  - name: KeystileDown\n');
    expect([...new Set(checksIn(firing))].sort()).toEqual(problems.sort());
  });

  test('each is fired by a test of promtool', () => {
    const { tests } = Bun.YAML.parse(ALERT_TESTS) as {
      tests: { alert_rule_test?: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const fired = tests
      .flatMap(({ alert_rule_test: each = [] }) => each)
      .filter(({ exp_alerts: expected }) => expected.length > 0)
      .map(({ alertname }) => alertname);
    expect([...new Set(fired)]).toEqual(NAMES);
  });
});

describe('the dashboard', () => {
  const overlap = ({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean =>
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

  test('has panels with an id and a title of their own, beside each other on a grid of 24', () => {
    const { panels } = DASHBOARD;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    for (const [i, panel] of panels.entries()) {
      expect(panel.gridPos.x + panel.gridPos.w).toBeLessThanOrEqual(24);
      expect(panels.slice(i + 1).filter((other) => overlap(panel, other))).toEqual([]);
    }
  });

  test('reads from the data source, job and nodes that its reader chooses', () => {
    expect(DASHBOARD.templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'instance']);
    const source = { type: 'prometheus', uid: '${datasource}' };
    const charts = DASHBOARD.panels.filter(({ type }) => type !== 'row');
    expect(charts.length).toBeGreaterThan(25);
    for (const { title, datasource, targets = [] } of charts) {
      expect([title, datasource, targets.length > 0]).toEqual([title, source, true]);
      for (const { expr, datasource: own } of targets) {
        expect(own).toEqual(source);
        const selectors = [...expr.matchAll(/\b(?:keystile|process)_\w+(\{[^}]*\})?/g)].map(
          ([, braces = '']) => braces,
        );
        for (const braces of selectors) expect(braces).toStartWith('{job=~"$job",instance=~"$instance"');
      }
    }
  });
});
