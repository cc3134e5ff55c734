/** What is wrong with this node apart from any one of its brains that can be opened. */
import type { BrainProblem } from '../writer/context.ts';
import type { CallContext } from './target.ts';

export async function nodeProblems({ deps, caller }: Pick<CallContext, 'deps' | 'caller'>): Promise<BrainProblem[]> {
  const problems = await deps.host.disk.problems();
  const vanished = await deps.host.folders.vanished();
  const views = await deps.rules.views(caller.subject, vanished, caller.registry);
  const shown = vanished.filter((_name, index) => views[index]?.mayOpen === true);
  return [...problems, ...shown.map(vanishedProblem)];
}

function vanishedProblem(name: string): BrainProblem {
  return {
    code: 'BRAIN_LOAD_FAIL',
    text: `${name}: its folder was removed; put back a backup of it and it is served again`,
  };
}
