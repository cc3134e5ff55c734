/** The key under which services keep a caller's current values. The header alone never opens another's session. */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { CallError } from '@svc/contract/codes.ts';
import type { HttpDoor } from './domain/call-form.ts';
import { MODERN } from './domain/mcp-wire.ts';
import { headerText } from './header-text.ts';

/** What a request says of its session; one of the Model Context Protocol is a session of ours under another name. */
export function sessionNameIn(headers: IncomingHttpHeaders, door: HttpDoor): string | undefined {
  const own = headerText(headers, 'x-svc-session');
  if (own !== undefined || door !== 'mcp' || headerText(headers, 'mcp-protocol-version') === MODERN) return own;
  const opened = headerText(headers, 'mcp-session-id');
  return opened === undefined ? undefined : `mcp.${opened}`;
}

const SESSION_NAME = /^[A-Za-z0-9._-]{1,64}$/;
const REMEMBERED = 1000;

export interface SessionKeys {
  /** Whose it is and `x-svc-session` -> 64 hex digits. Throws INVALID_REQUEST for a name that is none. */
  of(owner: string, name: string | undefined): string;
  /** The same; undefined for a name that is none. */
  find(owner: string, name: string | undefined): string | undefined;
}

export function createSessionKeys(): SessionKeys {
  const known = new Map<string, string>();

  function find(owner: string, name = ''): string | undefined {
    if (name !== '' && !SESSION_NAME.test(name)) return undefined;
    const source = `${owner}\n${name}`;
    const remembered = known.get(source);
    if (remembered !== undefined) return remembered;
    const key = hash('sha256', source, 'hex');
    if (known.size >= REMEMBERED) known.clear();
    known.set(source, key);
    return key;
  }

  return {
    find,
    of(owner, name) {
      const key = find(owner, name);
      if (key !== undefined) return key;
      throw new CallError(
        'INVALID_REQUEST',
        'x-svc-session must be 1-64 letters, digits, dots, underscores or dashes.',
      );
    },
  };
}
