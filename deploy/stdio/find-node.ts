/** The node of a data directory: found where one runs, started where none does, and counted upon while it is used. */
import { connect, type Socket } from 'node:net';
import { findNode, type NodeAddress } from '../node-address.ts';
import { COUNTED } from '../users.ts';
import { type Environment, startNode } from './start-node.ts';

export interface FoundNode {
  readonly url: string;
  leave(): void;
}

export interface Search {
  readonly directory: string;
  readonly environment: Environment;
  readonly withinMs: number;
}

const LOOK_EVERY_MS = 50;
const COUNTED_WITHIN_MS = 5000;

/** Throws Error with the reason when there is none in time, or none can be started. */
export async function joinNode({ directory, environment, withinMs }: Search): Promise<FoundNode> {
  const endsAt = performance.now() + withinMs;
  while (performance.now() < endsAt) {
    const found = findNode(directory);
    if (typeof found === 'object') {
      const node = await countOn(found);
      if (node !== null) return node;
    } else if (found === 'absent') {
      const reason = await startNode(directory, environment, endsAt - performance.now());
      // Another one may have been faster.
      if (reason !== null && findNode(directory) === 'absent') throw new Error(reason);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS * (0.5 + Math.random())));
  }
  throw new Error(`the node of ${directory} does not answer`);
}

/** Null when it is just ending. */
async function countOn({ url, users }: NodeAddress): Promise<FoundNode | null> {
  if (users === null) return { url, leave: () => {} };
  const socket = connect(users.port, '127.0.0.1');
  const isCounted = await counted(socket, users.secret);
  if (!isCounted) return null;
  return { url, leave: () => socket.destroy() };
}

async function counted(socket: Socket, secret: string): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(() => socket.destroy(), COUNTED_WITHIN_MS);
    const answer = (isCounted: boolean): void => {
      clearTimeout(late);
      resolve(isCounted);
    };
    let said = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said === COUNTED) answer(true);
    });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => answer(false));
    socket.write(`${secret}\n`);
  });
}
