/** Requests that a server makes of a client of the earlier era: told on the stream of a reply, answered by a message. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import { isObject } from '../../domain/call-form.ts';
import type { ClientReply } from '../../domain/mcp-wire.ts';
import type { Calling } from '../../tool-call.ts';
import type { Asked } from '../room.ts';
import type { Fields } from './fixture.ts';

const ANSWER_WITHIN_MS = 20_000;

interface Waiting {
  readonly principal: string;
  take(reply: ClientReply): void;
}

export class ClientRequests {
  readonly #waiting = new Map<string, Waiting>();

  /** Throws TIMEOUT, and FORBIDDEN when the client refuses. */
  async ask({ tell, visit }: Asked, method: string, params: Fields): Promise<Fields> {
    const id = `svc-${randomBytes(8).toString('hex')}`;
    const { promise, resolve } = Promise.withResolvers<ClientReply>();
    this.#waiting.set(id, { principal: visit.identity.principal, take: resolve });
    const done = new AbortController();
    try {
      tell({ jsonrpc: '2.0', id, method, params });
      const late = sleep(ANSWER_WITHIN_MS, null, { signal: done.signal, ref: false }).catch(() => null);
      const reply = await Promise.race([promise, late]);
      if (reply === null) throw new CallError('TIMEOUT');
      if (!isObject(reply.result)) throw new CallError('FORBIDDEN', 'The client did not answer the request.');
      return reply.result;
    } finally {
      done.abort();
      this.#waiting.delete(id);
    }
  }

  /** Of another principal, or to nothing that was asked: passed over. */
  take({ visit }: Calling, reply: ClientReply): void {
    const waiting = this.#waiting.get(String(reply.id));
    if (waiting?.principal === visit.identity.principal) waiting.take(reply);
  }
}
