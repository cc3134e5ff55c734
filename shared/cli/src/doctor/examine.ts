import type { Client } from '@svc/client/client.ts';
import type { Surroundings } from '../surroundings.ts';
import type { Finding } from './finding.ts';
import { examineMachine } from './machine.ts';
import { examineNode } from './node.ts';

/** This machine first: what is wrong with the node often begins here. */
export async function examine(surroundings: Surroundings, client: Client, signal: AbortSignal): Promise<Finding[]> {
  const isLocal = ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(client.url).hostname);
  const machine = isLocal ? await examineMachine(surroundings) : [];
  return [...machine, ...(await examineNode(surroundings, client, isLocal, signal))];
}
