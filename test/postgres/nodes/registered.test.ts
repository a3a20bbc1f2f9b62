import { expect, test } from 'bun:test';

import { SCHEMA_VERSION } from '../../../src/storage/postgres/schema/schema.ts';
import { FaultLab } from '../../support/cluster/faultLab.ts';

test('a node that serves is in the list of nodes with its schema version as soon as the database is open, a command never', async () => {
  await using lab = await FaultLab.start();
  await lab.open({ node: 'node_serving', version: '1.2.3' });
  await lab.open({ node: 'node_command', upgrades: false });
  expect(await lab.query('SELECT id, version, schema_version FROM nodes')).toEqual([
    { id: 'node_serving', version: '1.2.3', schema_version: String(SCHEMA_VERSION) },
  ]);
});

test('a node hears at its next sign of life that the database was migrated past it, and not before', async () => {
  await using lab = await FaultLab.start();
  const told: string[] = [];
  const node = await lab.open({ onOutdated: ({ message }) => void told.push(message) });
  const migrated = (version: number, compatibleFrom: number): Promise<unknown> =>
    lab.query(
      `UPDATE installation SET value = CASE name WHEN 'schema_version' THEN '${version}' ELSE '${compatibleFrom}' END
        WHERE name IN ('schema_version', 'schema_compatible_from')`,
    );
  await node.sayHello(null);
  await migrated(SCHEMA_VERSION + 1, SCHEMA_VERSION);
  await node.sayHello(null);
  expect(told).toEqual([]);
  await migrated(SCHEMA_VERSION + 2, SCHEMA_VERSION + 1);
  await node.sayHello(null);
  expect(told).toEqual([
    `The database has schema version ${SCHEMA_VERSION + 2}, which needs a program for version ${SCHEMA_VERSION + 1} or newer; this one is for ${SCHEMA_VERSION}. Start the newer program that migrated it.`,
  ]);
});
