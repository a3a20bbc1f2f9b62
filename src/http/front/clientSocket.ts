import type { Peer } from '../service.ts';
import type { Memory } from './frontLimits.ts';

/** The part of a client's socket that a responder uses. */
export interface ClientSocket {
  write(bytes: string | Uint8Array): number;
  timeout(seconds: number): void;
  /** Ends the writing side. What arrives is still read. */
  shutdown(): void;
  /** Closes the socket. What was written still arrives if the client sends nothing more. */
  end(): void;
  terminate(): void;
}

/** The client of one connection. */
export interface Client {
  readonly socket: ClientSocket;
  /** For unsent bytes. */
  readonly memory: Memory;
  readonly peer: Peer;
}
