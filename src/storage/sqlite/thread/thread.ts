import { Database } from 'bun:sqlite';
import { getPriority, setPriority } from 'node:os';

import { attachAnalytics } from '../file/openDatabase.ts';
import { endsWriting, toWriteFailure, WriteFailure } from '../file/writeFailure.ts';
import { writeDurably } from '../file/dataFolder.ts';
import type { ThreadCall, ThreadReply, ThreadStart } from './threadClient.ts';
import { Writer } from '../writer/writer.ts';
import type { Commit } from '../writer/commit.ts';

/** Entry of a worker thread. The first message says what kind of thread it is. Each later one is a call; calls are answered in order. */

declare const self: Worker;

let writer: Writer | null = null;
let reader: Database | null = null;

function start(options: ThreadStart): void {
  if (options.role === 'counts' || options.role === 'copier') yieldToOthers();
  if ('analyticsPath' in options) reader = openReader(options.path, options.analyticsPath);
  else writer = new Writer(options);
}

function openReader(path: string, analyticsPath: string): Database {
  const db = new Database(path, { readonly: true });
  try {
    db.run('PRAGMA busy_timeout = 5000');
    attachAnalytics(db, analyticsPath);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function carryOut(call: ThreadCall): unknown {
  switch (call.method) {
    case 'start':
      return start(...call.args);
    case 'takeRows':
      return writer?.takeRows(...call.args);
    case 'commit':
      return commit(...call.args);
    case 'applyAccounts':
      return writer?.applyAccounts(...call.args);
    case 'trimLog':
      return writer?.trimLog(...call.args);
    case 'saveLocalCounts':
      return writer?.saveLocalCounts(...call.args);
    case 'pruneLocalCounts':
      return writer?.pruneLocalCounts(...call.args);
    case 'reserve':
      return writer?.reserve(...call.args);
    case 'noteCommit':
      return writeDurably(...call.args);
    case 'setMaxPages':
      return writer?.setMaxPages(...call.args);
    case 'query': {
      const [{ sql, params }] = call.args;
      return reader?.query(sql).all(...params);
    }
    case 'write':
      return writer?.write(...call.args);
    case 'unpackCounts':
      return writer?.unpackCounts();
    case 'foldCounts':
      return writer?.foldCounts();
    case 'letGo':
      throw new WriteFailure('broken', 'the database has failed elsewhere');
    case 'close':
      writer?.close();
      reader?.close();
      return undefined;
  }
}

/** Returns how many milliseconds it took. */
function commit(batch: Commit): number {
  const startedAt = performance.now();
  writer?.commit(batch);
  return performance.now() - startedAt;
}

/** After this failure the thread does nothing more: its callers were told so, and may ask another thread for the same. */
let broken: WriteFailure | null = null;

self.onmessage = (event: MessageEvent<ThreadCall>) => {
  let reply: ThreadReply;
  try {
    if (broken !== null) throw broken;
    reply = { ok: true, value: carryOut(event.data) };
  } catch (error) {
    const failure = toWriteFailure(error);
    // A thread that only reads continues with the other pages.
    const isLast = failure.kind === 'broken' || (writer !== null && endsWriting(failure.kind));
    if (isLast && broken === null) {
      broken = failure;
      // Close the files before reporting the failure: another thread may take over before this one has ended.
      writer?.letGo();
      reader?.close();
    }
    reply = { ok: false, kind: failure.kind, message: failure.message, isLast };
  }
  self.postMessage(reply);
};

/** A value of `nice`. On a machine that is always busy, the thread gets a quarter of a processor; otherwise it gets all it needs. */
const BEHIND_OTHERS = 5;
const LAST = 19;

/**
 * Gives the calling thread, and the threads that it starts, a lower priority. Only Linux has a priority for each thread. On other systems,
 * or if it cannot be set, nothing changes.
 */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, Math.min(getPriority(0) + BEHIND_OTHERS, LAST));
  } catch {
    // The thread then has the same priority as the others.
  }
}
