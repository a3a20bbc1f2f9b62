import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { fillFolder } from './fill.ts';

/**
 * Fills a new data folder as one that is moved: `npm run bench:move -- FOLDER KEYS`. Each key has credits, two search words and an audit
 * entry, five rows together. See docs/move.md.
 */
const [folder = '', text = ''] = process.argv.slice(2);
const count = Number(text);
if (folder === '' || !Number.isSafeInteger(count) || count < 1) {
  console.error('Name a folder that does not exist, and the number of keys: npm run bench:move -- million 1000000');
  process.exit(2);
}
if (existsSync(folder)) {
  console.error(`${folder} exists. Name a folder that does not exist.`);
  process.exit(1);
}
fillFolder(folder, count, 'credits');
using db = new Database(join(folder, 'keystile.db'), { readwrite: true });
db.run('PRAGMA synchronous = OFF');
db.transaction(() => {
  db.run("UPDATE keys SET name = 'customer ' || rowid");
  db.run("INSERT INTO search_words (scope, word, id) SELECT api_id, 'customer', id FROM keys");
  db.run('INSERT INTO search_words (scope, word, id) SELECT api_id, CAST(rowid AS TEXT), id FROM keys');
  db.run(
    `INSERT INTO audit_entries (at_ms, actor, action, target, after_json)
     SELECT created_at_ms, 'cli', 'key.create', id, json_object('name', name, 'apiId', api_id, 'start', start, 'enabled', json('true')) FROM keys`,
  );
}).immediate();
console.log(`${folder} has ${count} keys`);
