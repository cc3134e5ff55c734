/** As whom a call acts, and as whom it reads. */
import { actingAs, mayActIn } from '@svc/contract/actor.ts';
import { identityOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { AgoraDeps } from './deps.ts';

type Who = Pick<Caller, 'subject' | 'operator' | 'token' | 'registry'>;

/** Behind what `actingAs` says, an operator acts as the node's own agent. Null = nobody. Throws what `actingAs` throws. */
export function actorOfCall(
  { nodeAgentId }: Pick<AgoraDeps, 'nodeAgentId'>,
  caller: Pick<Caller, 'subject' | 'operator'>,
  named?: string,
): string | null {
  return actingAs(caller, named) ?? (caller.operator ? nodeAgentId : null);
}

/** What somebody may read. */
export interface Viewer {
  /** An operator who looks as nobody. */
  readonly everything: boolean;
  readonly agentId: string | null;
  /** Where it holds a role and may act. */
  readonly workspaces: readonly string[];
}

export async function viewerOf(deps: Pick<AgoraDeps, 'registry'>, caller: Who): Promise<Viewer> {
  const agentId = identityOf(caller.subject);
  if (agentId !== null) return viewerOfAgent(deps, caller, agentId);
  return { everything: caller.operator, agentId: null, workspaces: [] };
}

export async function viewerOfAgent(
  { registry }: Pick<AgoraDeps, 'registry'>,
  caller: Pick<Who, 'token' | 'registry'>,
  agentId: string,
): Promise<Viewer> {
  const roles = await registry.roles(agentId, caller.registry);
  const workspaces = Object.keys(roles).filter((workspace) => mayActIn(caller, workspace));
  return { everything: false, agentId, workspaces };
}
