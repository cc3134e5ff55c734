/** The workspace a call is about when it names none. */
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { HabitatDeps } from '../deps.ts';

/** That of the subject, else the one its session has set. */
export async function currentWorkspace({ sessions }: Pick<HabitatDeps, 'sessions'>, caller: Caller): Promise<string> {
  const { workspace } = caller.subject;
  if (workspace !== undefined) return workspace;
  const current = await sessions.currentOf([caller.session]);
  return current[caller.session] ?? DEFAULT_WORKSPACE;
}
