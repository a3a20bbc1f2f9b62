import { expect, test } from 'bun:test';

import { Inbox, MAX_HELD_BYTES } from '../../src/http/front/inbox.ts';

test('while much is held nothing more is taken, until there is room again', () => {
  const said: string[] = [];
  const inbox = new Inbox({ pause: () => said.push('pause'), resume: () => said.push('resume') });
  inbox.keep(Buffer.alloc(MAX_HELD_BYTES));
  inbox.relax();
  expect(said).toEqual([]);
  inbox.keep(inbox.takeWith(Buffer.alloc(1)));
  expect(said).toEqual(['pause']);
  // Part of it was read, and much is left.
  inbox.take();
  inbox.keep(Buffer.alloc(MAX_HELD_BYTES + 1));
  inbox.relax();
  expect(said).toEqual(['pause']);
  inbox.take();
  inbox.keep(Buffer.alloc(MAX_HELD_BYTES));
  inbox.relax();
  inbox.relax();
  expect(said).toEqual(['pause', 'resume']);
  expect(inbox.take()?.length).toBe(MAX_HELD_BYTES);
  expect(inbox.take()).toBeNull();
});
