/** Clients in processes of their own: they can be stopped like a machine that went to sleep. */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { TargetPlace } from '../targets/target.ts';
import { waitFor } from './wait-for.ts';

export interface ClientOrder {
  readonly place: Pick<TargetPlace, 'gateways' | 'key'>;
  readonly session: string;
  readonly brain: string;
  readonly writes: number;
  readonly ttlMs?: number;
  readonly label?: string;
  /** Sent with each call: the credentials of whoever the client is. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type ClientRole = 'lease-holder' | 'writer' | 'member';

export interface ClientMessage {
  readonly kind: string;
  readonly [field: string]: unknown;
}

interface ClientProcess {
  /** Resolves with the first message of that kind. */
  said(kind: string, withinMs?: number): Promise<ClientMessage>;
  pause(): void;
  /** Whatever it does, wakes it up and tells it to go on. */
  resume(): void;
}

/** Started at once; ended when the scenario ends. */
export function startClientProcess(role: ClientRole, order: ClientOrder): ClientProcess {
  const child: ChildProcess = fork(join(import.meta.dirname, 'client-main.ts'), [role, JSON.stringify(order)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const messages: ClientMessage[] = [];
  child.on('message', (message) => messages.push(message as ClientMessage));
  onTestFinished(() => {
    child.kill('SIGCONT');
    child.kill('SIGKILL');
  });
  return {
    said: (kind, withinMs = 40_000) =>
      waitFor(
        () => {
          const found = messages.find((message) => message.kind === kind);
          if (found === undefined && child.exitCode !== null)
            throw new Error(`the ${role} ended with ${child.exitCode} before it said ${kind}`);
          return found;
        },
        { withinMs, what: `a ${role} to say ${kind}` },
      ),
    pause: () => void child.kill('SIGSTOP'),
    resume() {
      child.kill('SIGCONT');
      child.send('go on');
    },
  };
}
