/** A brain service in a process of its own, to be killed in the midst of its work. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Envelope } from '@svc/contract/rpc.ts';
import type { Fields } from '@svc/testing/service-bed.ts';

export interface NodeCall {
  readonly id: number;
  readonly tool: string;
  readonly args: Fields;
  readonly over: Partial<Envelope>;
}

export interface BrainProcess extends AsyncDisposable {
  /** The answer, or the code of a call error; never settles once the process is killed. */
  call(tool: string, args: Fields, over?: Partial<Envelope>): Promise<Fields>;
  kill(): Promise<void>;
}

export async function startBrainProcess(database: string, dataDir: string): Promise<BrainProcess> {
  const child = fork(join(import.meta.dirname, 'brain-node.fixture.ts'), [database, dataDir], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const waiting = new Map<number, (answer: Fields) => void>();
  const ready = Promise.withResolvers<void>();
  child.on('message', (said: { isReady: true } | { id: number; answer: Fields }) => {
    if ('isReady' in said) return ready.resolve();
    waiting.get(said.id)?.(said.answer);
    waiting.delete(said.id);
  });
  child.once('exit', (code) => ready.reject(new Error(`the brain ended with ${code}`)));
  await ready.promise;
  let calls = 0;
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return {
    call(tool, args, over = {}) {
      const id = (calls += 1);
      const asked: NodeCall = { id, tool, args, over };
      return new Promise((resolve) => {
        waiting.set(id, resolve);
        child.send(asked);
      });
    },
    kill,
    [Symbol.asyncDispose]: kill,
  };
}
