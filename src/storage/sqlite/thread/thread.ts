import { Database } from 'bun:sqlite';

import { attachAnalytics } from '../analytics/analyticsFile.ts';
import { toWriteFailure, WriteFailure } from '../file/writeFailure.ts';
import { writeDurably } from '../file/dataFolder.ts';
import type { ThreadCall, ThreadReply, ThreadStart } from './threadClient.ts';
import { Writer } from '../log/writer.ts';
import { yieldToOthers } from './lowPriority.ts';

/** Entry of a worker thread: the first message says what it is, each later one is a call that gets one reply, in order. */

declare const self: Worker;

let writer: Writer | null = null;
let reader: Database | null = null;

function start(options: ThreadStart): void {
  if (options.role === 'counts') yieldToOthers();
  if (options.role !== 'reader') writer = new Writer(options);
  else reader = openReader(options.path, options.analyticsPath);
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
    case 'commit':
      return writer?.commit(...call.args);
    case 'fold':
      return writer?.fold(...call.args);
    case 'trim':
      return writer?.trim(...call.args);
    case 'saveEdge':
      return writer?.saveEdge(...call.args);
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

function commitAccounts(message: Float64Array): number {
  const startedAt = performance.now();
  writer?.commitAccounts(message[0] ?? 0, message.subarray(1));
  return performance.now() - startedAt;
}

/** After it nothing is done any more: who asked was told that nothing is, and may ask another thread for the same. */
let broken: WriteFailure | null = null;

self.onmessage = (event: MessageEvent<ThreadCall | Float64Array>) => {
  let reply: ThreadReply;
  try {
    if (broken !== null) throw broken;
    if (event.data instanceof Float64Array) reply = commitAccounts(event.data);
    else {
      const value = carryOut(event.data);
      reply = value === undefined ? true : { ok: true, value };
    }
  } catch (error) {
    const failure = toWriteFailure(error);
    if (failure.kind === 'broken' && broken === null) {
      broken = failure;
      // Before anyone knows: another thread may take its place, and the end of this one comes at some time.
      writer?.letGo();
      reader?.close();
    }
    reply = { ok: false, kind: failure.kind, message: failure.message };
  }
  self.postMessage(reply);
};
