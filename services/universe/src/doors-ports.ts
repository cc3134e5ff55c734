/** What the rooms at the edge ask of other services. */
import { AGORA } from '@svc/contract/operations.agora.ts';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { type AskingPlatform, createOperationClient, type OperationClient } from '@svc/runtime/operations.ts';

/** The tasks under which sessions work. */
export type Tasks = Pick<OperationClient<typeof HABITAT, 'universe'>, 'beginTask' | 'task' | 'endTask'>;

/** What other services reach outside of the deployment. */
export interface Outside {
  readonly brain: Pick<OperationClient<typeof BRAIN, 'universe'>, 'outside' | 'reach'>;
  readonly agora: Pick<OperationClient<typeof AGORA, 'universe'>, 'outside' | 'reach'>;
}

/** Remotes that brains sync with, as operators name them. */
export type GitRemotes = Pick<
  OperationClient<typeof BRAIN, 'universe'>,
  'remotes' | 'keepRemote' | 'forgetRemote' | 'reach'
>;

interface DoorPorts {
  readonly tasks: Tasks;
  readonly gitRemotes: GitRemotes;
  readonly outside: Outside;
}

export function createDoorPorts(platform: AskingPlatform): DoorPorts {
  const ask = <const Of extends Parameters<typeof createOperationClient>[1]>(operations: Of) =>
    createOperationClient(platform, operations, 'universe');
  const brain = ask(BRAIN);
  return { tasks: ask(HABITAT), gitRemotes: brain, outside: { brain, agora: ask(AGORA) } };
}
