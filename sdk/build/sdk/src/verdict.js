import { isRecord } from './errors.js';
import { VERDICT_CODES } from './generated/api.js';
const CODES = new Set(VERDICT_CODES);
/** The verdict that a body of the service contains; null when it contains none. */
export function verdictOf(body, answeredAt) {
  if (!isRecord(body) || typeof body['valid'] !== 'boolean' || typeof body['code'] !== 'string') return null;
  const { code, valid } = body;
  const state = { ...body, ...(answeredAt === undefined ? {} : { answeredAt }) };
  if (CODES.has(code) && valid === (code === 'VALID')) return { ...state, valid, code };
  return { ...state, valid: false, code: 'UNKNOWN', receivedCode: code };
}
