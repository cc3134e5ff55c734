/** What changes of files have in common: who may not make them is audited, and several of them are one step. */
import { CallError } from '@svc/contract/codes.ts';
import type { Decision } from '@svc/contract/decision.ts';
import { candidatePaths } from '@svc/contract/names.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { BranchWriter, Step } from '../writer/branch-writer.ts';
import { GUARD_REFUSALS } from '../writer/file-batch.ts';
import type { Staging } from '../writer/staging.ts';
import { noteDenial, type Served, unkeyed } from './operation.ts';

/** Of any step, whatever it stages. */
export const STEP_REFUSALS = [...GUARD_REFUSALS, 'E_STATE_WRITE', 'E_BRANCH_ABSENT', 'E_LIMIT'] as const;
type StepRefusal = (typeof STEP_REFUSALS)[number];

export interface Write extends Served {
  readonly branch: string;
}

/** What `judge` stages takes effect in one step of the branch's writer, or not at all. */
export async function inStep<Value, Code extends string>(
  { brain, branch, context }: Write,
  judge: (staging: Staging, writer: BranchWriter) => Decision<Step<Value, Code>, Code>,
): Promise<Once<Value, Code | StepRefusal>> {
  const found = await brain.writer(branch);
  if (!found.ok) return unkeyed(found);
  const writer = found.value;
  return writer.step(context, (staging) => judge(staging, writer));
}

/** A write of the file that the caller named so. Throws RLS_DENIED, E_ISLAND_WRITE_DENIED, and notes it for the audit. */
export async function auditedWrite<Answer>(
  served: Served,
  path: string,
  write: () => Promise<Answer>,
): Promise<Answer> {
  const { rows } = served;
  const denied = candidatePaths(path).filter((candidate) => !rows.mayWrite(candidate));
  try {
    // Denied whatever is there: no working tree is opened for it.
    if (denied.length === candidatePaths(path).length) throw new CallError(rows.writeDenial(path) ?? 'RLS_DENIED');
    return await write();
  } catch (error) {
    const [file] = denied;
    if (file !== undefined && isRowDenial(error)) noteDenial(served, file, 'write');
    throw error;
  }
}

function isRowDenial(error: unknown): boolean {
  return error instanceof CallError && (error.code === 'RLS_DENIED' || error.code === 'E_ISLAND_WRITE_DENIED');
}
