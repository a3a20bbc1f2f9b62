import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

import { fromProjectRoot } from '../launch/project.mjs';
import { asker, blocksIn, emptyFolder, startKeystile } from './example.mjs';
import { freePort, Program } from './program.mjs';

const PAGE = readFileSync(fromProjectRoot('docs/protect-a-route.md'), 'utf8');
const README = readFileSync(fromProjectRoot('README.md'), 'utf8');

/** A block of the page by the name behind its language. */
function block(language) {
  const found = blocksIn(PAGE, language);
  strictEqual(found.length, 1, `the page must have one block of ${language}`);
  return found[0];
}

/** Goes through the page in one terminal, as a reader would. */
class Reader {
  #terminal;
  #instead;

  constructor(folder, instead) {
    this.#terminal = new Program({ folder });
    this.#instead = instead;
  }

  /** Types lines and waits for their end. Returns what they print. */
  async type(lines) {
    const end = `--- ${crypto.randomUUID()}`;
    const printedBefore = this.#terminal.output.length;
    this.#terminal.type(`${this.asHere(lines)}\necho '${end}'`);
    await this.#terminal.until(() => this.#terminal.output.includes(end));
    return this.#terminal.output.slice(printedBefore).replace(`${end}\n`, '');
  }

  /** The addresses of the page are taken by this machine's own service. */
  asHere(text) {
    return this.#instead.reduce((all, [shown, real]) => all.replaceAll(shown, real), text);
  }

  printed(text) {
    return this.#terminal.until(() => this.#terminal.output.includes(text));
  }

  stop() {
    return this.#terminal.stop();
  }
}

/** The name of a request differs each time. */
function masked(output) {
  return output.trim().replace(/"req_\w+"/, '"req_..."');
}

describe('docs/protect-a-route.md, from an empty folder', async () => {
  const folder = join(emptyFolder(), 'keystile');
  mkdirSync(folder);
  const { url, pasted, newKey } = await startKeystile();
  const port = String(await freePort());
  const reader = new Reader(folder, [
    ['http://127.0.0.1:7878', url],
    ['3000', port],
  ]);
  after(() => reader.stop());
  const shown = blocksIn(PAGE, '');

  test('the service gives a key with three credits', async () => {
    strictEqual(block('sh keystile'), 'npm start\n');
    strictEqual(await reader.type(pasted.slice(0, 2).join('\n')), '');
  });

  test('the program has the seven lines of code that the page promises', () => {
    match(PAGE, /and seven lines of your own code\./);
    const lines = block('js app.js').split('\n');
    strictEqual(lines.filter((line) => line.trim() !== '').length, 7);
  });

  test('a project is made and the program starts', async () => {
    await reader.type(block('sh project'));
    writeFileSync(join(folder, 'my-api/app.js'), reader.asHere(block('js app.js')));
    await reader.type(block('sh start'));
    await reader.printed(`http://127.0.0.1:${port}/search\n`);
  });

  test('the first request passes', async () => {
    strictEqual(await reader.type(block('sh passes')), shown[0].trim());
  });

  test('the second one is refused with the status, the headers and the body that the page shows', async () => {
    const answer = masked(await reader.type(block('sh refused')))
      .replaceAll('\r', '')
      .split('\n');
    const [head, body] = shown[1].trim().split('\n\n');
    const [status, ...headers] = head.split('\n');
    strictEqual(answer[0], status);
    const sent = answer.map((line) => line.toLowerCase());
    for (const header of headers) ok(sent.includes(header), `${header} is missing`);
    deepStrictEqual(answer.slice(-2), ['', body]);
  });

  test('a request without a key is refused with the body that the page shows', async () => {
    strictEqual(masked(await reader.type(block('sh missing'))), shown[2].trim());
  });

  test('the route that the README begins with is protected in the same way', async () => {
    const [route] = blocksIn(README, 'js');
    match(README.slice(0, README.indexOf(route)), /^[^`]*```js\n$/, 'it is the first code of the README');
    const own = String(await freePort());
    const [first, ...rest] = route.trim().split('\n');
    const program = [first, "import express from 'express';", 'const app = express();', ...rest, `app.listen(${own});`];
    writeFileSync(join(folder, 'my-api/readme.js'), program.join('\n'));
    const running = new Program({
      folder: join(folder, 'my-api'),
      lines: `KEYSTILE_URL=${url} exec node readme.js`,
    });
    after(() => running.stop());
    await running.listens(Number(own));
    const ask = asker(`http://127.0.0.1:${own}`);
    deepStrictEqual((await ask('/search', await newKey({ remaining: 5 }))).body, { creditsLeft: 3 });
    strictEqual((await ask('/search')).status, 401);
  });
});
