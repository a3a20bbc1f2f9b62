import type { TSchema } from 'typebox';

import { isLoopback } from '../../core/address.ts';
import { MAX_SMALL_BODY_BYTES } from '../../core/bounds.ts';
import { AppError, repeatable } from '../../core/errors.ts';
import { readJson, readJsonInSteps } from './json.ts';
import type { HeaderLookup, Service } from '../service.ts';

function tooLarge(maxBytes: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `The body is too large. This route accepts at most ${maxBytes} bytes.`);
}

export function checkContentType(headers: HeaderLookup): void {
  const type = headers.get('content-type');
  // The usual value is compared first, because a regular expression is slower.
  if (type === 'application/json') return;
  if (type === null || !/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new AppError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: add the header "Content-Type: application/json".',
    );
  }
}

/** The value of a JSON body, and whether the body is large: what is done with it then gives way to others. */
export interface ReadBody {
  readonly value: unknown;
  readonly isLarge: boolean;
}

interface BodyReading {
  readonly maxBytes: number;
  /** In whose name a large body waits for its turn. */
  readonly client: string;
  /** Called before anything of the body is looked at. What it throws refuses the request. */
  readonly arrived?: (bytes: number) => void;
}

/**
 * Reads a JSON body. A large one waits for a turn of `client` before it is looked at, and gives way while it is read. Bytes that are not
 * UTF-8 are refused: replacement characters would be stored.
 */
export async function readJsonBody(
  { engine: { turns }, noise }: Service,
  request: Request,
  { maxBytes, client, arrived }: BodyReading,
): Promise<ReadBody> {
  const bytes = await readBytes(request, maxBytes);
  arrived?.(bytes.length);
  const isLarge = bytes.length > MAX_SMALL_BODY_BYTES;
  if (isLarge) await turns.wait(client, request.signal);
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new AppError('BAD_REQUEST', 'The body is not valid UTF-8.');
  }
  if (!isLarge) return { value: readJson(bytes, noise()), isLarge };
  return { value: await readJsonInSteps(bytes, noise(), () => turns.giveWay(client)), isLarge };
}

/** A declared length is checked before the body is read; otherwise reading stops at the limit. */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-length');
  if (Number(declared ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return declared === null ? readStream(request, maxBytes) : request.bytes();
}

/** The text of a small body. */
export function readBody(request: Request, maxBytes: number): Promise<string> {
  const declared = request.headers.get('content-length');
  if (declared === null) return readStream(request, maxBytes).then((bytes) => new TextDecoder().decode(bytes));
  if (Number(declared) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  return request.text();
}

/** Reads a body without a declared length, and keeps nothing past the limit. */
async function readStream(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const reader = (request.body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      await reader.cancel();
      throw tooLarge(maxBytes);
    }
    chunks.push(value);
  }
  return Buffer.concat(chunks);
}

/** RFC 3986, 3.2.2, without percent-encoding and commas: two Hosts joined into one have a comma. */
const HOST = /^(?:[\w.~!$&'()*+;=-]+|\[[\da-fA-F:.]+\])(?::(\d{0,5}))?$/;
const MAX_PORT = 65_535;
/** More digits would not be exact as a number. No route accepts nearly as much. */
const LENGTH = /^(?:0|[1-9]\d{0,14})$/;

/** Whether this is a valid value of the header Host. */
export function isHost(text: string): boolean {
  const host = HOST.exec(text);
  return host !== null && Number(host[1] ?? 0) <= MAX_PORT;
}

export function checkHost(host: string): void {
  if (isHost(host)) return;
  throw new AppError(
    'BAD_REQUEST',
    `The header Host must be one name or address, with or without a port, got ${repeatable(host)}.`,
  );
}

/** Throws when a request may not name this Host. */
export type HostCheck = (host: string) => void;

/**
 * The check of the Host for a service that listens on this address. On a loopback address only this machine should reach it. But the name
 * of any page can lead there (DNS rebinding), and a browser then lets the page read the answers. So only names of this machine are accepted,
 * and that of KEYSTILE_PUBLIC_URL, which a proxy on this machine may forward.
 */
export function hostCheck(listensOn: string, publicUrl: string | null): HostCheck {
  if (!isLoopback(listensOn)) return checkHost;
  const publicName = publicUrl === null ? null : new URL(publicUrl).hostname;
  // Clients repeat their Host, so most of them cost one comparison.
  let accepted: string | null = null;
  return (host) => {
    if (host === accepted) return;
    checkHost(host);
    const name = nameIn(host);
    if (!isLoopback(name) && name !== publicName) throw foreignHost(host, publicName);
    accepted = host;
  };
}

/** The name or address in a Host, without its port. */
export function nameIn(host: string): string {
  return host.replace(/:\d*$/, '').toLowerCase();
}

function foreignHost(host: string, publicName: string | null): AppError {
  const names = `localhost, 127.0.0.1 or [::1]${publicName === null ? '' : `, or as ${publicName}`}`;
  return new AppError(
    'BAD_REQUEST',
    `This service listens on a loopback address, so it must be called as ${names}, got the Host ${repeatable(host)}. If clients call it by another name, for example through a proxy on this machine, set KEYSTILE_PUBLIC_URL to the address that they use.`,
  );
}

/** The number of bytes in the header Content-Length. */
export function toLength(text: string): number {
  if (LENGTH.test(text)) return Number(text);
  throw new AppError('BAD_REQUEST', `The header Content-Length must be a number of bytes, got ${repeatable(text)}.`);
}

interface Node {
  readonly type?: string;
  readonly anyOf?: readonly Node[];
  readonly properties?: Readonly<Record<string, Node>>;
}

/**
 * Turns query parameters into a request body. Numbers, true and false are converted where the schema asks for them. Lists are
 * separated by commas or repeated. A value that cannot be converted stays a text, and the schema reports it.
 */
export function queryToBody(schema: TSchema, params: URLSearchParams): Record<string, unknown> {
  const body: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, values] of valuesByName(params)) {
    if (name === 'pretty') continue;
    const node = (schema as Node).properties?.[name];
    if (takes(node, 'array')) body[name] = values.flatMap((value) => value.split(','));
    else body[name] = values.length === 1 ? toValue(node, values[0] ?? '') : values;
  }
  return body;
}

/** One pass over all parameters: `getAll` would read all of them again for each name. */
function valuesByName(params: URLSearchParams): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [name, value] of params) {
    const values = found.get(name);
    if (values === undefined) found.set(name, [value]);
    else values.push(value);
  }
  return found;
}

function toValue(node: Node | undefined, text: string): unknown {
  if (takes(node, 'integer') && /^-?\d{1,17}$/.test(text)) return Number(text);
  if (takes(node, 'boolean') && (text === 'true' || text === 'false')) return text === 'true';
  if (takes(node, 'null') && !takes(node, 'string') && text === 'null') return null;
  return text;
}

/** The schema, or one of its choices, has this type. */
function takes(node: Node | undefined, type: string): boolean {
  return node?.type === type || node?.anyOf?.some((choice) => takes(choice, type)) === true;
}
