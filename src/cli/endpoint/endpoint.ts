/** An endpoint as the command line sees it. `npm run docs` makes the table of all of them from the routes of the service. */
export interface Endpoint {
  /** Without /v1/, such as `keys.rotateKey`. */
  readonly path: string;
  /** The words of its command, such as `key rotate`. */
  readonly command: string;
  readonly summary: string;
  readonly description?: string;
  /** Only reads: `--all` and a misspelled name lead to no change. */
  readonly isRead: boolean;
  /** Whoever has the key may call it. A root key is sent when one is set. */
  readonly needsNoRootKey?: true;
  /** Its command asks before it runs. `always`, or when the old secret ends at once. */
  readonly asksFirst?: 'always' | 'withoutOverlap';
  /** Flags that the command had once, each with what to write now. */
  readonly formerFlags?: Readonly<Record<string, string>>;
  readonly fields: readonly EndpointField[];
  readonly answer: EndpointAnswer;
  /** The words behind the command. */
  readonly example: readonly string[];
}

export type FieldKind =
  | 'text'
  | 'count'
  | 'duration'
  | 'time'
  | 'choice'
  | 'switch'
  | 'json'
  /** JSON, or a plain text. */
  | 'jsonOrText'
  /** A role or a permission, by its id or name. */
  | 'reference'
  /** A limit and its window, such as 10/s. */
  | 'rate'
  /** The same with a name, such as requests=10/s. */
  | 'namedRate'
  /** daily:100. */
  | 'refill'
  /** The secret of a key. */
  | 'secret';

/** A field of a request. */
export interface EndpointField {
  /** The name of its flag, without dashes. */
  readonly flag: string;
  /** Its name in the request. `remaining.cost` is a field of an object. */
  readonly member: string;
  readonly kind: FieldKind;
  readonly meaning: string;
  /** It is an argument, not a flag. The value is its name in the help. */
  readonly operand?: string;
  readonly isRequired?: true;
  /** `--clear` sets it to null. */
  readonly isNullable?: true;
  /** `--clear` sets it to an empty list. */
  readonly isEmptyable?: true;
  readonly isList?: true;
  readonly choices?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  /** A value that is an id goes to this member instead. `pattern` is that of the id. `isLookedUp`: the request has no such member. */
  readonly byId?: { readonly member: string; readonly pattern: string; readonly isLookedUp?: true };
  /** The flag that means false. */
  readonly off?: string;
  /** The flag of the window that belongs to this limit: `10/s` sets both. */
  readonly window?: string;
}

export interface EndpointAnswer {
  /** The member that holds the records, or null when the answer itself is the list. Absent: the answer is one record. */
  readonly list?: string | null;
  /** The columns of a table of records. `identity.externalId` is a field of an object. */
  readonly columns?: readonly string[];
  /** Those of the columns that are shown only where a record has them. */
  readonly columnsIfAny?: readonly string[];
  /** What a field that is absent means. */
  readonly absent?: Readonly<Record<string, string>>;
  /** The labels of fields that are not called as their member. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Members that are times, durations and objects of the user's own, at all depths. */
  readonly times: readonly string[];
  readonly durations: readonly string[];
  readonly free: readonly string[];
  /** The member with a secret that is shown only once. */
  readonly secret?: string;
  /** The member that is false when the service says no. */
  readonly refuses?: 'valid' | 'success';
}
