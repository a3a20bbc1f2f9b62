import { readFileSync } from 'node:fs';

import { EXIT } from '../serve/exitCodes.ts';
import { Failure } from './cliError.ts';

const LINE = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;

/**
 * Lines of NAME=value; blank ones and those with # are passed over. A value may stand in quotes and is taken as it is:
 * nothing in it is replaced, so that a secret with a $ or a backslash stays what it is. The file is read only when it is
 * asked for by --env-file: a stray .env never configures anything.
 */
export function parseEnvFile(path: string): Record<string, string> {
  const found: Record<string, string> = {};
  const problems: string[] = [];
  for (const [i, raw] of readText(path).split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const match = LINE.exec(line);
    // The line itself is not shown: it may hold a secret.
    if (match === null) problems.push(`Line ${i + 1} of ${path} is not NAME=value.`);
    else found[match[1] ?? ''] = unquoted(match[2] ?? '');
  }
  if (problems.length > 0) throw new Failure(EXIT.CANNOT_START, problems);
  return found;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = (error as { code?: string }).code ?? String(error);
    throw new Failure(EXIT.CANNOT_START, [`The file ${path} of --env-file cannot be read (${reason}).`]);
  }
}

function unquoted(value: string): string {
  const quoted = /^(["'])(.*)\1(?:\s+#.*)?$/.exec(value);
  return quoted === null ? value.replace(/(^|\s+)#.*$/, '') : (quoted[2] ?? '');
}
