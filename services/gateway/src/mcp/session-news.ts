/** A session is changed through any gateway and followed through another: each tells the others which one it was. */
import { EventEmitter } from 'node:events';
import { MCP_SESSION_CHANGED } from '@svc/contract/discovery.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';

export interface SessionNews {
  /** Answers how to stop listening. A message that is lost costs until the next look, some seconds. */
  onChanged(session: string, listener: () => void): () => void;
  changed(session: string): void;
  close(): Promise<void>;
}

export async function startSessionNews({ bus, log }: Pick<StatelessPlatform, 'bus' | 'log'>): Promise<SessionNews> {
  const listeners = new EventEmitter().setMaxListeners(0);
  const subscription = await bus.subscribe(MCP_SESSION_CHANGED, (session) => void listeners.emit(`session ${session}`));
  return {
    onChanged(session, listener) {
      const name = `session ${session}`;
      listeners.on(name, listener);
      return () => listeners.off(name, listener);
    },
    changed(session) {
      listeners.emit(`session ${session}`);
      try {
        bus.publish(MCP_SESSION_CHANGED, session);
      } catch (error) {
        // Who follows it elsewhere looks again after a while.
        log.debug({ err: error }, 'the change of a session was not told to other gateways');
      }
    },
    close: () => subscription.drain(),
  };
}
