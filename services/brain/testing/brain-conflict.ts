/** A conflict that a merge leaves on `main`. */
import type { Fields } from '@svc/testing/service-bed.ts';
import { expect } from 'vitest';
import type { BrainNode } from './brain-test-bed.ts';

/** In a brain without a branch `dispute`; commits what is there. Returns the id of the conflict about `learnings/disputed.md`. */
export async function leaveConflict(node: Pick<BrainNode, 'call'>, brain: string): Promise<string> {
  const call = (tool: string, args: Fields) => node.call(tool, { brain, ...args });
  const disputed = (branch: string, content: string) =>
    call('svc_set_memory', { branch, category: 'learnings', filename: 'disputed', content });
  await disputed('main', 'base');
  await call('svc_commit', { message: 'to be disputed' });
  await call('svc_create_branch', { name: 'dispute' });
  for (const branch of ['dispute', 'main']) {
    await disputed(branch, branch);
    await call('svc_commit', { branch, message: 'disputed' });
  }
  const merged = await call('svc_branch_merge', { from: 'dispute', into: 'main', dryRun: false });
  expect(merged).toMatchObject({ conflicts: [{ file: 'learnings/disputed.md' }] });
  const { conflicts } = (await call('svc_conflicts', {})) as { conflicts: { id: string }[] };
  return conflicts[0]?.id ?? expect.fail('there is no conflict');
}
