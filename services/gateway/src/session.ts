/** The key under which services keep a caller's current values. The header alone never opens another's session. */
import { hash } from 'node:crypto';
import { CallError } from '@svc/contract/codes.ts';

const SESSION_NAME = /^[A-Za-z0-9._-]{1,64}$/;
const REMEMBERED = 1000;

/** Principal and `x-svc-session` -> 64 hex digits. Throws INVALID_REQUEST for a name that is none. */
export type SessionKeys = (principal: string, name: string | undefined) => string;

export function createSessionKeys(): SessionKeys {
  const known = new Map<string, string>();
  return (principal, name = '') => {
    if (name !== '' && !SESSION_NAME.test(name)) {
      throw new CallError(
        'INVALID_REQUEST',
        'x-svc-session must be 1-64 letters, digits, dots, underscores or dashes.',
      );
    }
    const source = `${principal}\n${name}`;
    const remembered = known.get(source);
    if (remembered !== undefined) return remembered;
    const key = hash('sha256', source, 'hex');
    if (known.size >= REMEMBERED) known.clear();
    known.set(source, key);
    return key;
  };
}
