import type { Call } from './call.ts';
import type { Groups } from './generated/api.ts';
import type { Sending } from './transport.ts';
type Send = (sending: Sending) => Promise<unknown>;
/** The methods of every endpoint, by group. */
export declare function makeGroups(calls: readonly Call[], send: Send): Groups;
export {};
