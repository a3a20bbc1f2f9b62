/** The statuses that this service answers with. */
const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  202: 'Accepted',
  204: 'No Content',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
};

/** The client may send the body that it has announced. */
export const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

const LENGTH = 'Content-Length: ';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const CLOSE = 'Connection: close\r\n';
const CLOSE_AND_LENGTH = CLOSE + LENGTH;
const WITHOUT_BODY = [204, 304];

/** Headers in their order. */
type HeaderPairs = Iterable<readonly [name: string, value: string]>;

/** Writes the heads of answers. The date in them is made once a second. */
export class ResponseHeads {
  readonly #nowMs: () => number;
  #second = -1;
  #date = '';
  #verdict = '';

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The head of a verdict, which is always JSON with status 200. */
  ofVerdict(headerLines: string, bodyBytes: number, isLast: boolean): string {
    this.#keepDate();
    const begun = this.#verdict + headerLines + (isLast ? CLOSE_AND_LENGTH : LENGTH);
    return `${begun}${bodyBytes}\r\n\r\n`;
  }

  of(status: number, headers: HeaderPairs, bodyBytes: number, isLast: boolean): string {
    const text = this.#begun(status, headers);
    // RFC 9110, 8.6: an answer that has no body by its status tells no length.
    if (WITHOUT_BODY.includes(status)) return `${text}${isLast ? CLOSE : ''}\r\n`;
    return `${text}${isLast ? CLOSE_AND_LENGTH : LENGTH}${bodyBytes}\r\n\r\n`;
  }

  /** The head of an answer whose length is not known. Without chunks, its end is that of the connection. */
  ofStream(status: number, headers: HeaderPairs, isChunked: boolean, isLast: boolean): string {
    return `${this.#begun(status, headers)}${isLast ? CLOSE : ''}${isChunked ? CHUNKED : ''}\r\n`;
  }

  #begun(status: number, headers: HeaderPairs): string {
    this.#keepDate();
    let text = `HTTP/1.1 ${status} ${REASONS[status] ?? ''}\r\n${this.#date}`;
    for (const [name, value] of headers) text += `${name}: ${value}\r\n`;
    return text;
  }

  #keepDate(): void {
    const nowMs = this.#nowMs();
    const second = Math.floor(nowMs / 1000);
    if (second === this.#second) return;
    this.#second = second;
    this.#date = `Date: ${new Date(nowMs).toUTCString()}\r\n`;
    this.#verdict = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${this.#date}`;
  }
}
