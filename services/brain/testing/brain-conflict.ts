/** A conflict that a merge leaves on a branch. */
import type { Fields } from '@svc/testing/service-bed.ts';
import { expect } from 'vitest';
import type { BrainNode } from './brain-test-bed.ts';

/** Where the conflict is: by default about `learnings/disputed.md`, on `main`. The branch is there. */
export interface Disputed {
  readonly branch?: string;
  readonly name?: string;
}

/** In a brain that has had none on that branch; commits what is there. Returns the id of the conflict. */
export async function leaveConflict(
  node: Pick<BrainNode, 'call'>,
  brain: string,
  { branch: into = 'main', name = 'learnings/disputed' }: Disputed = {},
): Promise<string> {
  const call = (tool: string, args: Fields) => node.call(tool, { brain, ...args });
  const from = `${into}-dispute`;
  const write = (branch: string, content: string) => call('brain_save', { branch, name, content });
  await write(into, 'base');
  await call('svc_commit', { branch: into, message: 'to be disputed' });
  await call('svc_create_branch', { name: from, from: into });
  for (const branch of [from, into]) await write(branch, branch);
  const merged = await call('svc_branch_merge', { from, into, dryRun: false });
  expect(merged).toMatchObject({ conflicts: [{ file: `${name}.md` }] });
  const { conflicts } = (await call('svc_conflicts', { branch: into })) as { conflicts: { id: string }[] };
  return conflicts[0]?.id ?? expect.fail('there is no conflict');
}
