import { type KeystileError } from './errors.js';
import type { Verdict as ServiceVerdict, VerdictCode } from './generated/api.js';
/** What a verdict says about the key, as far as the key has it. NOT_FOUND has none of it. */
export interface KeyState extends Omit<ServiceVerdict, 'valid' | 'code'> {
  /** The time of the service when it answered, in Unix milliseconds, to the second. Absent where the answer does not say it. */
  readonly answeredAt?: number;
}
export type RefusalCode = Exclude<VerdictCode, 'VALID'>;
export interface ValidVerdict extends KeyState {
  readonly valid: true;
  readonly code: 'VALID';
  readonly keyId: string;
}
export interface Refusal<C extends RefusalCode = RefusalCode> extends KeyState {
  readonly valid: false;
  readonly code: C;
}
/** The service refused with a code that is newer than this version of the SDK. */
export interface UnknownRefusal extends KeyState {
  readonly valid: false;
  readonly code: 'UNKNOWN';
  readonly receivedCode: string;
}
/** A handler can read `remaining` of every verdict. */
type NoKeyState = {
  readonly [F in keyof KeyState]?: undefined;
};
/** There was no verdict, so nothing is known of the key. `onUnavailable` decided: `valid` is true only where it said so. */
export interface UnavailableVerdict extends NoKeyState {
  readonly valid: boolean;
  readonly code: 'UNAVAILABLE';
  readonly cause: KeystileError;
}
export type Verdict =
  | ValidVerdict
  | {
      [C in RefusalCode]: Refusal<C>;
    }[RefusalCode]
  | UnknownRefusal
  | UnavailableVerdict;
/** The verdict that a body of the service contains; null when it contains none. */
export declare function verdictOf(body: unknown, answeredAt: number | undefined): Verdict | null;
export {};
