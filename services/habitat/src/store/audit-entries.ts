/** The audit is written to: by callers, and by services that hand over what they have recorded. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { familyOf } from '@svc/contract/subject.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { auditSubjectOf } from '@svc/runtime/audit.ts';
import type { ChainedEntry } from '../domain/audit-chain.ts';
import type { Appended } from './audit-rows.ts';
import { useAudit } from './audit-use.ts';
import type { HabitatUnit } from './unit.ts';
import { workspaceExists } from './workspace-rows.ts';

interface LogWish {
  readonly workspace: string;
  readonly event: string;
  readonly data: Record<string, unknown>;
  readonly isAdmin: boolean;
}

/** Throws VAF_INPUT_INVALID when there is no such workspace. */
export async function logEntry(
  unit: HabitatUnit,
  { isAdmin, ...wish }: LogWish,
): Promise<Decision<ChainedEntry, 'E_QUOTA'>> {
  const { tx, caller, config } = unit;
  const { workspace } = wish;
  if (!(await workspaceExists(tx, workspace)))
    throw invalidArguments([{ path: 'workspace', message: 'there is no such workspace' }]);
  const family = caller.operator ? null : familyOf(caller.subject);
  const over = await useAudit(tx, config, { family, workspace, isAdmin });
  if (over !== null) return deny('E_QUOTA', over.details, over.message);
  const subject = auditSubjectOf(caller);
  const [logged] = await unit.append([{ ...wish, id: unit.ids.next('aud'), kind: 'user', subject }]);
  if (logged === undefined) throw new Error('a new entry of the audit was there already');
  return allow(logged);
}

export async function appendAudit(unit: HabitatUnit, entries: readonly Appended[]): Promise<Decision<null, never>> {
  await unit.append(entries);
  return allow(null);
}

interface BrokenChain {
  readonly chain: string;
  readonly brokenAt?: number | undefined;
}

export async function tellOfBroken(unit: HabitatUnit, broken: readonly BrokenChain[]): Promise<Decision<null, never>> {
  for (const { chain, brokenAt = null } of broken) {
    unit.emit({ name: 'audit:broken', payload: { chain, seq: brokenAt } });
  }
  return allow(null);
}
