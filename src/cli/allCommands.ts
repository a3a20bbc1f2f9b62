import type { Command } from './command.ts';
import { COMMANDS } from './commandTable.ts';
import { completionCommand } from './completion.ts';
import type { Endpoint } from './endpoint/endpoint.ts';
import { endpointCommand } from './endpoint/endpointCommand.ts';
// Made by `npm run docs` from the routes: to read them here would load the whole service for every command.
import endpoints from './endpoint/endpoints.json';

/** The commands that are made from the table of endpoints. */
export const ENDPOINT_COMMANDS: readonly Command[] = (endpoints as unknown as readonly Endpoint[]).map(endpointCommand);

/** Every command, in the order of the help: those of one noun stand together, where its first one stands. */
export const ALL_COMMANDS: readonly Command[] = byNoun([...COMMANDS, ...ENDPOINT_COMMANDS, completionCommand]);

function byNoun(commands: readonly Command[]): Command[] {
  return [...Map.groupBy(commands, ({ name }) => name.split(' ')[0]).values()].flat();
}
