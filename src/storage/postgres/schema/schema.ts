import { RECORDS } from '../../../model/records.ts';
import { addedColumns } from '../../../model/columns.ts';
import { CREDIT_TABLES, DIALECT, EVENT_TABLES, LEDGER_TABLES, NODE_TABLES, RECORD_TABLES } from './tables.ts';
import { copyFormerCounts } from './analyticsTables.ts';
import { ANALYTICS_TABLES, COUNTS_AS_BEFORE, VERDICT_TABLES } from './analyticsTables.ts';
import { LEDGER_FUNCTIONS } from './ledgerFunctions.ts';
import type { Migration } from './migrate.ts';
import { GENERAL_SPEND_FUNCTION, PLAIN_SPEND_FUNCTION } from './spendFunctions.ts';
import { OWN_SESSION_FUNCTION } from '../connection/ownSession.ts';

const SCHEMA_V1 = [
  RECORD_TABLES,
  EVENT_TABLES,
  LEDGER_TABLES,
  CREDIT_TABLES,
  NODE_TABLES,
  ANALYTICS_TABLES,
  LEDGER_FUNCTIONS,
  GENERAL_SPEND_FUNCTION,
  PLAIN_SPEND_FUNCTION,
].join('\n');

/** Lookups lock tables in this order. A migration that uses the same order cannot deadlock with one. */
const IN_ORDER = 'LOCK TABLE keys, identities, apis, changes;';

/**
 * Forward migrations: entry N migrates version N to N + 1. A released entry is never edited. A program of the previous version must still
 * work on the new schema, so that nodes can be replaced one by one: columns are added with a default, functions get a new name, and what is
 * no longer used is removed one version later. An entry that changes several tables begins with IN_ORDER.
 */
const BY_HAND: readonly Migration[] = [
  { compatibleFrom: 1, sql: SCHEMA_V1, indexes: '' },
  // Nodes of version 1 do not know grants without an expiry and upgrades of plans.
  { compatibleFrom: 2, sql: [OWN_SESSION_FUNCTION, replacing(GENERAL_SPEND_FUNCTION)].join('\n'), indexes: '' },
  {
    compatibleFrom: 2,
    sql: VERDICT_TABLES,
    moveRows: { copy: copyFormerCounts, sqlAfter: COUNTS_AS_BEFORE },
    indexes: '',
  },
];

/** Columns that src/model declares for later versions. Programs of the previous version leave them unchanged. */
const COLUMNS = addedColumns(RECORDS, DIALECT);

export const MIGRATIONS: readonly Migration[] = Array.from(
  { length: Math.max(BY_HAND.length, ...COLUMNS.keys()) },
  (_, i) => {
    const byHand = BY_HAND[i] ?? { compatibleFrom: BY_HAND.at(-1)?.compatibleFrom ?? 1, sql: '', indexes: '' };
    const columns = COLUMNS.get(i + 1);
    return columns === undefined ? byHand : { ...byHand, columns: `${IN_ORDER}\n${columns}` };
  },
);

/** A database that was made earlier has the function without its later corrections. */
function replacing(sql: string): string {
  return sql.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION');
}

export const SCHEMA_VERSION = MIGRATIONS.length;

const DROPPED = named(/DROP TABLE former_(\w+)/g);

/** The tables and functions that the migrations make. */
export const SCHEMA_NAMES = {
  tables: ['installation', ...named(/CREATE (?:UNLOGGED )?TABLE (\w+)/g).filter((name) => !DROPPED.includes(name))],
  functions: named(/CREATE FUNCTION (\w+)/g),
};

function named(names: RegExp): string[] {
  const texts = BY_HAND.map(({ sql, moveRows }) => `${sql}${moveRows?.sqlAfter ?? ''}`);
  return texts.flatMap((text) => Array.from(text.matchAll(names), ([, name = '']) => name));
}
