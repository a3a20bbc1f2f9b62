import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { PROJECT } from '../process.ts';

const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface Target {
  readonly expr: string;
  readonly datasource: unknown;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: unknown;
  readonly targets?: readonly Target[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[];
  };
}

type Groups = { readonly groups: readonly { readonly rules: readonly AlertRule[] }[] };

export const ALERTS = (Bun.YAML.parse(read('deploy/monitoring/alerts.yaml')) as Groups).groups.flatMap(
  ({ rules }) => rules,
);
export const ALERT_TESTS = read('deploy/monitoring/alerts.test.yaml');
export const DASHBOARD = JSON.parse(read('deploy/monitoring/grafana.json')) as Dashboard;
export const INCIDENTS = read('docs/incidents.md');

/** The metrics of docs/monitoring.md. */
export const DOCUMENTED = [
  ...read('docs/monitoring.md').matchAll(/^\| (`(?:keystile|process)_.*?) \| (.*) \|$/gm),
].flatMap(([, names = '', meaning = '']) =>
  [...names.matchAll(/`(\w+)/g)].map(([, name = '']) => ({ name, isPostgres: meaning.startsWith('PostgreSQL: ') })),
);

/** The metrics that an expression reads, without what a histogram adds to its name. */
export function metricsIn(expression: string): string[] {
  return [...expression.matchAll(/\b(?:keystile|process)_\w+/g)].map(([name]) =>
    name.replace(/(?<=_seconds|_size)_(?:bucket|sum|count)$/, ''),
  );
}
