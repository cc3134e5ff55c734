/** What a name stands for: an operation that is built in, a tool, or what somebody registered in the workspace. */
import type { Caller, Effect } from '@svc/contract/tool.ts';
import type { UniverseDeps } from '../deps.ts';
import { homeOf, standingOf } from '../standing.ts';
import { mayChooseFor } from './domain/choice.ts';
import { type BatchOperation, isBatchOperation } from './domain/pipeline.ts';

type Resolved =
  | { readonly type: 'pipeline'; readonly steps: readonly BatchOperation[] }
  | {
      readonly type: 'tool';
      readonly tool: string;
      readonly args: Record<string, unknown>;
      readonly effect: Effect;
      /** Somebody else chose what is called; null = the caller did, or an operator. */
      readonly chosenBy: string | null;
    };

interface Named {
  readonly operation: string;
  readonly workspace?: string | undefined;
}

type OperationDeps = Pick<UniverseDeps, 'calls' | 'registry' | 'operations'>;

/** Null = nothing that the caller may know of. Throws SERVICE_UNAVAILABLE while the tools are not known. */
export async function resolveOperation(
  deps: OperationDeps,
  caller: Caller,
  { operation, workspace }: Named,
): Promise<Resolved | null> {
  if (isBatchOperation(operation)) return { type: 'pipeline', steps: [operation] };
  const effect = await deps.calls.effectOf(operation);
  if (effect !== null) return { type: 'tool', tool: operation, args: {}, effect, chosenBy: null };
  const home = homeOf(caller, workspace);
  const { name, holds } = await standingOf(deps, caller);
  const found = holds(home, 'viewer') ? await deps.operations.find({ workspace: home, name: operation }) : null;
  if (found === null) return null;
  const { spec, owner } = found;
  if (spec.type !== 'tool') return spec;
  const now = await deps.calls.effectOf(spec.tool);
  return now === null ? null : { ...spec, effect: now, chosenBy: mayChooseFor(name, owner) ? null : owner };
}
