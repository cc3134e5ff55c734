/** What crews ask of others. Every question may be asked again: it is named by the crew, or by the crew and its task. */
import { CallError } from '@svc/contract/codes.ts';
import { AGORA } from '@svc/contract/operations.agora.ts';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import { ESCROW } from '@svc/contract/operations.escrow.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { type AskingPlatform, createOperationClient, type OperationClient } from '@svc/runtime/operations.ts';

type Asked<Of extends Parameters<typeof createOperationClient>[1]> = OperationClient<Of, 'universe'>;

export interface CrewPorts {
  readonly registry: Pick<Asked<typeof HABITAT>, 'assemble' | 'disband' | 'agentStates'>;
  readonly money: Pick<Asked<typeof ESCROW>, 'open' | 'balance' | 'hold' | 'capture' | 'void'>;
  readonly votes: Pick<Asked<typeof AGORA>, 'closeout'>;
  readonly notes: Pick<Asked<typeof BRAIN>, 'noteResolution'>;
}

export function createCrewPorts(platform: AskingPlatform): CrewPorts {
  return {
    registry: createOperationClient(platform, HABITAT, 'universe'),
    money: createOperationClient(platform, ESCROW, 'universe'),
    votes: createOperationClient(platform, AGORA, 'universe'),
    notes: createOperationClient(platform, BRAIN, 'universe'),
  };
}

/** What has been begun goes on by itself; only how it ends is not known to who waits. */
export async function answered<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof CallError && error.code !== 'INTERNAL') {
      throw new CallError('E_OUTCOME_UNKNOWN', undefined, { retryAfterMs: 1000 });
    }
    throw error;
  }
}
