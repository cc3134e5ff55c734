import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Subject } from '@svc/contract/subject.ts';
import { expect, it } from 'vitest';
import { leaveConflict } from '../../testing/brain-conflict.ts';
import { bedOfFile } from '../../testing/bed-of-file.ts';

type Content = Record<string, unknown>;

const bed = await bedOfFile();
let node = await bed.start();

function caller(subject: Subject | null) {
  const session = hash('sha256', JSON.stringify(subject), 'hex');
  const over = subject === null ? { session } : { session, subject, operator: false };
  return (tool: string, args: Content = {}) => node.call(tool, args, over);
}
const operator = caller(null);
const ada = caller({ userId: 'ada', workspace: 'acme', roles: ['admin'] });
const bob = caller({ userId: 'bob', workspace: 'acme', roles: ['editor'] });

const person = (salary: number, note: string) =>
  `{\n  "name": "Ada",\n  "salary": ${salary},\n  "note": "${note}"\n}\n`;

async function clash(): Promise<void> {
  const write = (name: string, content: string, branch: string) =>
    operator('brain_write', { name, content, branch, format: name.endsWith('.json') ? 'json' : 'md' });
  await write('hr/secret', 'base', 'main');
  await write('people/ada.json', person(1, 'base'), 'main');
  await operator('svc_commit', { message: 'base' });
  await operator('svc_create_branch', { name: 'side' });
  for (const [branch, salary] of [
    ['side', 91_000],
    ['main', 92_000],
  ] as const) {
    await write('hr/secret', branch, branch);
    await write('people/ada.json', person(salary, branch), branch);
  }
  await operator('svc_commit', { message: 'theirs', branch: 'side' });
}

it('tells of a conflict what its reader may see of the file, and nothing else', async () => {
  await clash();
  bed.registry.setPolicy('brain:svc/hr', {
    readableBy: ['role:admin'],
    writableBy: ['role:admin'],
    container: 'acme',
  });
  bed.registry.setPolicy('brain:svc/people', {
    readableBy: ['role:editor', 'role:admin'],
    writableBy: ['role:editor', 'role:admin'],
    container: 'acme',
    mask: ['salary'],
    filter: ['note'],
  });
  const merged = await bob('svc_branch_merge', { from: 'side', into: 'main' });
  expect(merged).toMatchObject({ conflicts: [{ file: 'people/ada.json', ours: null, theirs: null }], committed: 1 });
  const listed = await bob('svc_conflicts');
  expect(listed).toMatchObject({ conflicts: [{ file: 'people/ada.json', base: null, ours: null, theirs: null }] });
  const { conflicts: all } = (await ada('svc_conflicts')) as { conflicts: Content[] };
  const idOf = (file: string) => all.find((row) => row['file'] === file)?.['id'];
  const secret = { id: idOf('hr/secret.md') };
  expect(secret.id).toBeTypeOf('string');
  expect(JSON.stringify(await bob('svc_conflict_read', secret))).toBe(
    JSON.stringify(await bob('svc_conflict_read', { id: 'cfl_0' })).replace('cfl_0', String(secret.id)),
  );
  expect(await bob('svc_conflict_resolve', { ...secret, take: 'ours' })).toMatchObject({ code: 'E_NOT_FOUND' });
  expect(await ada('svc_conflict_read', secret)).toMatchObject({ ours: { text: 'main' }, theirs: { text: 'side' } });
  const shown = await bob('svc_conflict_read', { id: idOf('people/ada.json') });
  expect(JSON.stringify(shown)).not.toMatch(/9[12]000|note/);
  expect(shown).toMatchObject({ theirs: { text: expect.stringContaining('"name": "Ada"') } });
  // A side that is taken leaves what the taker does not see as it is.
  await bob('svc_conflict_resolve', { id: idOf('people/ada.json'), take: 'theirs' });
  expect(await ada('svc_conflicts')).toMatchObject({ conflicts: [{ file: 'hr/secret.md' }] });
  bed.registry.setPolicy('brain:svc/people', null);
  expect(await operator('brain_read', { name: 'people/ada.json' })).toMatchObject({
    content: expect.stringContaining('92000'),
  });
});

it('settles nothing on a branch that a person has taken away', async () => {
  const brain = 'without-branch';
  await operator('brain_switch', { name: brain, create: true });
  await operator('svc_create_branch', { brain, name: 'target' });
  const id = await leaveConflict(node, brain, { branch: 'target' });
  await node.stop();
  execFileSync('git', ['-C', join(bed.dataDir, 'brains', brain), 'update-ref', '-d', 'refs/heads/target']);
  node = await bed.start();
  const refused = await operator('svc_conflict_resolve', { brain, id, take: 'theirs' });
  expect(refused).toMatchObject({ resolved: false, code: 'E_BRANCH_ABSENT' });
});

it('brings no side back beside a name that is spelt nearly alike', async () => {
  const brain = 'nearly-alike';
  await operator('brain_switch', { name: brain, create: true });
  const id = await leaveConflict(node, brain);
  await operator('brain_delete_file', { brain, name: 'learnings/disputed' });
  await operator('brain_write', { brain, name: 'learnings/Disputed', content: 'another' });
  const take = operator('svc_conflict_resolve', { brain, id, take: 'theirs', ifMatch: 'none' });
  await expect(take).rejects.toThrow('VAF_PATH_BLOCKED');
});

it('settles what is in an island for those whom its boundary admits', async () => {
  const brain = 'of-an-island';
  await operator('brain_switch', { name: brain, create: true });
  const id = await leaveConflict(node, brain, { name: 'islands/disputed' });
  bed.registry.setPolicy('_island:disputed', { container: 'acme', writableBy: ['role:admin'] });
  const settle = { brain, id, take: 'theirs' };
  await expect(operator('svc_conflict_resolve', settle)).rejects.toThrow('E_ISLAND_WRITE_DENIED');
  expect(await ada('svc_conflict_resolve', settle)).toMatchObject({ resolved: true, changed: true });
  bed.registry.setPolicy('_island:disputed', null);
});
