import { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { configure } from '../../src/storage/sqlite/file/openDatabase.ts';
import { median } from './statistics.ts';

const COMMITS = 200;

/** Median time of a small durable commit on the disk of this folder, with the settings of the service. */
export function measureFlushMs(folder: string): number {
  const path = join(folder, 'flush.db');
  const db = new Database(path, { create: true, readwrite: true });
  configure(db);
  db.run('CREATE TABLE flushed (number INTEGER PRIMARY KEY, entries TEXT NOT NULL) STRICT');
  const insert = db.prepare('INSERT INTO flushed (entries) VALUES (?)');
  const times: number[] = [];
  for (let i = 0; i < COMMITS; i++) {
    const startedAtMs = performance.now();
    insert.run('[[1,0,1,0,0,1]]');
    times.push(performance.now() - startedAtMs);
  }
  db.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  return median(times);
}
