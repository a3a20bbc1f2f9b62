/** Stands in for curl on a machine that has none: what the printed lines use of it, `-s`, `-H`, `-d` and a URL. */

import { argv, stdout } from 'node:process';

const headers: Record<string, string> = {};
let [url, body]: [string, string | null] = ['', null];
const args = argv.slice(2);
for (let i = 0; i < args.length; i++) {
  const arg = args[i] ?? '';
  if (arg === '-H') {
    const [, name = '', value = ''] = /^([^:]+): *(.*)$/.exec(args[++i] ?? '') ?? [];
    headers[name] = value;
  } else if (arg === '-d') body = args[++i] ?? '';
  else if (arg !== '-s') url = arg;
}
const response = await fetch(url, { headers, ...(body === null ? {} : { method: 'POST', body }) });
stdout.write(await response.text());
