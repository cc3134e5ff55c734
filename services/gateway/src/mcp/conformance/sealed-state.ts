/** What is left with a client between the rounds of a call: it cannot be changed, nor used for another tool or principal. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { INVALID_PARAMS, McpError } from '../../domain/mcp-wire.ts';

export class StateSeal {
  readonly #key = randomBytes(32);

  seal(scope: string, text: string): string {
    const body = Buffer.from(text).toString('base64url');
    return `${body}.${this.#mark(scope, body)}`;
  }

  /** Throws McpError for what was not sealed here under that scope. */
  open(scope: string, state: unknown): string {
    const [body = '', mark = '', ...more] = typeof state === 'string' ? state.split('.') : [];
    const [given, expected] = [Buffer.from(mark), Buffer.from(this.#mark(scope, body))];
    if (more.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new McpError(INVALID_PARAMS, 'params.requestState is not what was given out.');
    }
    return Buffer.from(body, 'base64url').toString();
  }

  #mark(scope: string, body: string): string {
    return createHmac('sha256', this.#key).update(`${scope}\n${body}`).digest('base64url');
  }
}
