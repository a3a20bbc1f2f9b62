import type { Engine } from '../engine/engine.ts';
import type { Log } from '../log.ts';
import type { ServiceHold } from '../storage/sqlite/move/serviceHold.ts';
import { wallClockMs } from '../system.ts';

/** What `keystile data export --move` and `keystile data release` ask of the running service. */
export type MoveCommand =
  /** Holds the service as long as the connection is open, or until the move is finished. */
  | { readonly command: 'holdChanges'; readonly exportId: string }
  | { readonly command: 'holdAccounts'; readonly exportId: string }
  | { readonly command: 'finishMove'; readonly exportId: string }
  | { readonly command: 'releaseMove' };

export type MoveAnswer = { readonly done: boolean };

/** The beginning of the answer to `holdChanges`. */
export type HoldAnswer = { readonly wasHeld: boolean };

export interface Movable {
  readonly hold: ServiceHold;
  readonly engine: Pick<Engine, 'localLimits' | 'countWriting'>;
  readonly log: Pick<Log, 'warn' | 'info'>;
  /** Waits before the service tries again to go on. */
  readonly pause: (milliseconds: number) => Promise<void>;
}

const GO_ON_AGAIN_MS = 1_000;

export function isMoveCommand(command: { readonly command: string }): command is MoveCommand {
  return ['holdChanges', 'holdAccounts', 'finishMove', 'releaseMove'].includes(command.command);
}

/** `asker` is aborted when the other side is gone. */
export async function runMoveCommand(movable: Movable, command: MoveCommand, asker: AbortSignal): Promise<Response> {
  const { hold, log } = movable;
  switch (command.command) {
    case 'holdChanges':
      return holdWhileOpen(movable, command.exportId, asker);
    case 'holdAccounts':
      await hold.holdAccounts({ exportId: command.exportId, atMs: wallClockMs() });
      await saveCounts(movable);
      break;
    case 'finishMove':
      await hold.finish(command.exportId);
      log.warn('the service was moved: it spends and changes nothing until keystile data release', {
        exportId: command.exportId,
      });
      break;
    case 'releaseMove': {
      const done = await hold.release(wallClockMs());
      if (done) log.warn('the service was released: it spends and changes again');
      return Response.json({ done } satisfies MoveAnswer);
    }
  }
  return Response.json({ done: true } satisfies MoveAnswer);
}

/** The answer does not end. When the other side is gone, however it has ended, the service goes on. */
async function holdWhileOpen({ hold, log, pause }: Movable, exportId: string, asker: AbortSignal): Promise<Response> {
  const wasHeld = await hold.begin(exportId);
  log.warn('the service is held for a move: changes are refused', { exportId });
  const goOn = async (): Promise<void> => {
    for (;;) {
      try {
        if (await hold.letGo(exportId)) log.warn('the export has ended early: the service goes on', { exportId });
        return;
      } catch (error) {
        const reason = String(error);
        log.warn('the export has ended early, and the service cannot go on yet: it tries again', { exportId, reason });
      }
      await pause(GO_ON_AGAIN_MS);
    }
  };
  let ended: Promise<void> | null = null;
  const letGo = (): Promise<void> => (ended ??= goOn());
  // It may be gone before the answer has begun.
  if (asker.aborted) void letGo();
  else asker.addEventListener('abort', () => void letGo());
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from(`${JSON.stringify({ wasHeld } satisfies HoldAnswer)}\n`)),
    cancel: letGo,
  });
  return new Response(body);
}

/** Counts that are only in memory. They are not exact, so a failure holds up nothing. */
async function saveCounts({ engine, log }: Movable): Promise<void> {
  try {
    if (engine.localLimits.unsavedSize > 0) await engine.localLimits.sync();
    await engine.countWriting.flush();
  } catch (error) {
    log.warn('counts could not be saved before the move', { reason: String(error) });
  }
}
