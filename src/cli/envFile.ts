import { readFileSync } from 'node:fs';

import { EXIT } from '../serve/exitCodes.ts';
import { CliError } from './cliError.ts';

const LINE = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;

/**
 * Reads lines of NAME=value. Blank lines and lines that start with # are skipped. A value may be in quotes and is used as
 * it is: nothing in it is expanded, so a secret may contain a $ or a backslash. Only a file that --env-file names is read:
 * a stray .env file never configures anything.
 */
export function parseEnvFile(path: string): Record<string, string> {
  const found: Record<string, string> = {};
  const problems: string[] = [];
  for (const [i, raw] of readText(path).split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const match = LINE.exec(line);
    // The line itself is not shown: it may contain a secret.
    if (match === null) problems.push(`Line ${i + 1} of ${path} must have the form NAME=value.`);
    else found[match[1] ?? ''] = unquoted(match[2] ?? '');
  }
  if (problems.length > 0) throw new CliError(EXIT.CANNOT_START, problems);
  return found;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = (error as { code?: string }).code ?? String(error);
    throw new CliError(EXIT.CANNOT_START, [`The file ${path} of --env-file cannot be read (${reason}).`]);
  }
}

function unquoted(value: string): string {
  const quoted = /^(["'])(.*)\1(?:\s+#.*)?$/.exec(value);
  return quoted === null ? value.replace(/(^|\s+)#.*$/, '') : (quoted[2] ?? '');
}
