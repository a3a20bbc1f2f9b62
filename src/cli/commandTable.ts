import type { Command } from './command.ts';
import { serve } from './commands/serve.ts';

/** Every command, in the order in which help shows them. */
export const COMMANDS: readonly Command[] = [serve];
