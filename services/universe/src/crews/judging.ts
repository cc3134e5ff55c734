/** Whether a crew may begin a task, by what others say now. Who does not answer has not said yes. */
import { CallError } from '@svc/contract/codes.ts';
import { amountFromCredits } from '@svc/contract/amount.ts';
import type { CrewRow } from './crew-rows.ts';
import { accountOfCrew } from './domain/crew.ts';
import { type MemberState, type Purse, quarantinedOf } from './domain/task.ts';
import type { CrewPorts } from './ports.ts';
import type { Pool } from './task-rows.ts';

/** Members that are in quarantine, or of whom nobody says that they are not. */
export async function findQuarantined(
  { registry }: Pick<CrewPorts, 'registry'>,
  crew: Pick<CrewRow, 'roster'>,
): Promise<readonly string[]> {
  try {
    return quarantinedOf(await statesOf({ registry }, crew));
  } catch (error) {
    if (error instanceof CallError && error.code !== 'INTERNAL') return crew.roster.map(({ id }) => id);
    throw error;
  }
}

export async function statesOf(
  { registry }: Pick<CrewPorts, 'registry'>,
  { roster }: Pick<CrewRow, 'roster'>,
): Promise<MemberState[]> {
  return (await registry.agentStates({ agentIds: roster.map(({ id }) => id) })).states;
}

/** As the ledger shows it. */
export async function poolOf(
  { money }: Pick<CrewPorts, 'money'>,
  { name }: Pick<CrewRow, 'name'>,
): Promise<Pool | null> {
  const { budget } = await money.balance({ account: accountOfCrew(name) });
  if (budget === null) return null;
  const { limit, spent, pending, available } = budget;
  return { limit, spent, pending, available };
}

export function purseOf(pool: Pool | null): Purse {
  return { limit: amountFromCredits(pool?.limit ?? 0) ?? 0n, available: amountFromCredits(pool?.available ?? 0) ?? 0n };
}
