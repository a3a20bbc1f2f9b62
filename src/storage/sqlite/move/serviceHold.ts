import { DataError } from '../../sql/move/dataError.ts';
import { ADD_RELEASE_ENTRY, MOVED_NOTE, type MovedNote } from '../../sql/move/importedNote.ts';
import type { Statement } from '../../sql/query/statement.ts';
import type { Held, MoveHold } from '../ledger/moveHold.ts';
import type { SqliteLedger } from '../ledger/ledger.ts';
import type { SqliteThread } from '../thread/threadClient.ts';

const PUT_NOTE =
  'INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
const REMOVE_NOTE = 'DELETE FROM installation WHERE name = $1';

/**
 * Holds a running service while it is moved:
 *
 *   free --begin--> changes refused --holdAccounts--> everything refused --finish--> moved --release--> free
 *   moved --begin (another export)--> moved, and finish or letGo leave it so
 *   changes or everything refused --letGo (the export has ended before its end)--> free
 *   everything refused --letGo fails (a full disk)--> everything refused, and nobody holds it --letGo, begin or release--> free
 *
 * From `holdAccounts` on the database has a note that refuses every start. So neither a crash nor a restart lets a service spend that
 * may have been moved.
 */
export class ServiceHold {
  readonly #ledger: Pick<SqliteLedger, 'findAnswer'>;
  readonly #hold: MoveHold;
  readonly #writer: Pick<SqliteThread, 'call'>;
  /** The export that holds the service now. */
  #holder: string | null = null;
  #isMoved = false;
  /** One step at a time: an export may die in the middle of one. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(ledger: Pick<SqliteLedger, 'findAnswer'>, hold: MoveHold, writer: Pick<SqliteThread, 'call'>) {
    this.#ledger = ledger;
    this.#hold = hold;
    this.#writer = writer;
  }

  /** Refuses changes of records. Those that were accepted before are durable when this returns. Answers whether it was moved before. */
  begin(exportId: string): Promise<boolean> {
    return this.#inTurn(() => this.#begin(exportId));
  }

  async #begin(exportId: string): Promise<boolean> {
    if (this.#holder !== null)
      throw new DataError('Another export with --move is running. Wait until it ends, or stop it.');
    this.#holder = exportId;
    if (this.#isMoved) return true;
    try {
      await this.#free();
      await this.#holdBehindAccepted('changes');
      return false;
    } catch (error) {
      this.#holder = null;
      if (this.#hold.held === 'changes') this.#hold.held = 'nothing';
      throw error;
    }
  }

  /** Refuses spends, too. Every spend that was answered is durable when this returns. */
  holdAccounts(note: MovedNote): Promise<void> {
    return this.#inTurn(() => this.#holdAccounts(note));
  }

  async #holdAccounts(note: MovedNote): Promise<void> {
    this.#requireHolder(note.exportId);
    if (this.#isMoved) return;
    await this.#holdBehindAccepted('everything');
    // The thread writes in order: what it was asked before is written.
    await this.#writer.call('write', [{ sql: PUT_NOTE, params: [MOVED_NOTE, JSON.stringify(note)] }]);
  }

  /** The export is whole. */
  finish(exportId: string): Promise<void> {
    return this.#inTurn(async () => {
      this.#requireHolder(exportId);
      if (this.#hold.held !== 'everything') throw new DataError('The accounts are not held: the export is not whole.');
      this.#isMoved = true;
      this.#holder = null;
    });
  }

  /** The export has ended. Answers whether the service goes on from now on. When this fails, ask again: nobody else does. */
  letGo(exportId: string): Promise<boolean> {
    return this.#inTurn(() => this.#letGo(exportId));
  }

  async #letGo(exportId: string): Promise<boolean> {
    if (this.#holder !== null && this.#holder !== exportId) return false;
    // First, so that this export finishes nothing any more, whatever becomes of the note.
    this.#holder = null;
    if (this.#isMoved || this.#hold.held === 'nothing') return false;
    await this.#free();
    return true;
  }

  /** Answers whether the service had been held. */
  release(atMs: number): Promise<boolean> {
    return this.#inTurn(() => this.#release(atMs));
  }

  async #release(atMs: number): Promise<boolean> {
    if (this.#holder !== null)
      throw new DataError('An export with --move is running. Stop it: the service then goes on.');
    const wasHeld = this.#hold.held !== 'nothing';
    await this.#free({ sql: ADD_RELEASE_ENTRY, params: [atMs] });
    this.#isMoved = false;
    return wasHeld;
  }

  /** The ledger works in the order in which it is asked: when this question is answered, all that was accepted before is durable. */
  async #holdBehindAccepted(held: Held): Promise<void> {
    const answered = this.#ledger.findAnswer({ scope: '', id: '', requestDigest: '' });
    this.#hold.held = held;
    await answered;
  }

  /** The note goes first: while it is there, nothing is spent. */
  async #free(...entries: readonly Statement[]): Promise<void> {
    if (this.#hold.held === 'everything')
      await this.#writer.call('write', [{ sql: REMOVE_NOTE, params: [MOVED_NOTE] }, ...entries]);
    this.#hold.held = 'nothing';
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#last.then(step, step);
    this.#last = done;
    return done;
  }

  #requireHolder(exportId: string): void {
    if (this.#holder !== exportId) throw new DataError('The service is no longer held by this export. Run it again.');
  }
}
