import type { HoldAnswer, MoveAnswer, MoveCommand } from '../../serve/moveCommands.ts';
import { DataError } from '../../storage/sql/move/dataError.ts';
import { type CliError, failed } from '../cliError.ts';
import type { SourceHold } from './sourceHold.ts';

/** Holds the service that listens on a control socket, as long as this process has its connection open. */
export async function holdService(control: string, exportId: string): Promise<SourceHold> {
  // The answer begins when changes are held, and does not end.
  const response = await send(control, { command: 'holdChanges', exportId });
  await refused(response);
  // Read and kept: the runtime closes the connection of an answer that nobody can read any more.
  const reader = response.body?.getReader();
  const begun = await reader?.read().catch(() => null);
  if (begun?.value === undefined) throw noAnswer();
  const { wasHeld } = JSON.parse(Buffer.from(begun.value).toString()) as HoldAnswer;
  return {
    wasHeld,
    accounts: async () => void (await askHeld(control, { command: 'holdAccounts', exportId })),
    finish: async () => void (await askHeld(control, { command: 'finishMove', exportId })),
    close: async () => reader?.cancel(),
  };
}

export async function askHeld(control: string, command: MoveCommand): Promise<boolean> {
  const response = await send(control, command);
  await refused(response);
  return ((await response.json()) as MoveAnswer).done;
}

async function refused(response: Response): Promise<void> {
  if (response.ok) return;
  throw new DataError(((await response.json()) as { error: string }).error);
}

async function send(control: string, command: MoveCommand): Promise<Response> {
  try {
    // Without a limit of time: the connection stays open while records are copied.
    const options = { unix: control, method: 'POST', body: JSON.stringify(command), timeout: false };
    return await fetch('http://localhost/', options);
  } catch {
    throw noAnswer();
  }
}

function noAnswer(): CliError {
  return failed('The service does not answer on its control socket. Nothing was exported. Run the command again.');
}
