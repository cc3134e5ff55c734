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

/** More changes than this are not remembered while they cannot be told; who follows those looks again after a while. */
const MAX_UNTOLD = 10_000;

export async function startSessionNews({ bus, log }: Pick<StatelessPlatform, 'bus' | 'log'>): Promise<SessionNews> {
  const listeners = new EventEmitter().setMaxListeners(0);
  const untold = new Set<string>();
  const hear = (session: string): void => void listeners.emit(nameOf(session));
  const tell = (session: string): void => {
    try {
      bus.publish(MCP_SESSION_CHANGED, session);
      untold.delete(session);
    } catch (error) {
      if (untold.size < MAX_UNTOLD) untold.add(session);
      log.debug({ err: error }, 'the change of a session was not told to other gateways yet');
    }
  };
  const subscription = await bus.subscribe(MCP_SESSION_CHANGED, hear);
  // What others told meanwhile was not heard here.
  const stopListening = bus.onConnection((isConnected) => {
    if (!isConnected) return;
    for (const name of listeners.eventNames()) listeners.emit(name);
    for (const session of untold) tell(session);
  });
  return {
    onChanged(session, listener) {
      listeners.on(nameOf(session), listener);
      return () => listeners.off(nameOf(session), listener);
    },
    changed(session) {
      hear(session);
      tell(session);
    },
    async close() {
      stopListening();
      await subscription.drain();
    },
  };
}

/** Some names mean something to an emitter. */
function nameOf(session: string): string {
  return `session ${session}`;
}
